"""DequantizeLinear and QuantizeLinear where the second gives back the integers that the first reads."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.qdq_pairs import useless_pairs
from onnxlint_cmsis.model.graph import Graph, Node


def useless_nodes(graph: Graph) -> Iterator[Node]:
    """The QuantizeLinear of each pair whose result is read or leaves the model."""
    nodes = (node for _, node in useless_pairs(graph))
    return (node for node in nodes if node.outputs[0] in graph.ends or graph.consumers.get(node.outputs[0]))


def refusal_of_useless_pairs(graph: Graph, record: LoweredLayer) -> str | None:
    """Why a pair has to stay."""
    result = record.node.outputs[0]
    readers = graph.consumers.get(result, ())
    if result in graph.ends:
        return "its result is an output of the model"
    inside = next((node.label for node in (record.node, *readers) if node.graph or node.bodies), "")
    return f"{inside} is in a subgraph or has one" if inside else None


USELESS_PAIRS = RepairRow(
    name="useless-pairs",
    what="takes out a DequantizeLinear and QuantizeLinear that give back the integers they read",
    price="nothing",
    free=True,
    unfit=refusal_of_useless_pairs,
    rule="useless-quantization",
    nodes=useless_nodes,
)
