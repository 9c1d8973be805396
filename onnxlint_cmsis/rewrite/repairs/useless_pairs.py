"""DequantizeLinear and QuantizeLinear taken out where the second gives back the integers that the first reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.quantize_pairs import useless_pairs
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


def nodes(graph: Graph) -> Iterator[Node]:
    """The QuantizeLinear of each pair whose result is read or leaves the model."""
    found = (node for _, node in useless_pairs(graph))
    return (node for node in found if node.outputs[0] in graph.outputs or graph.consumers.get(node.outputs[0]))


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why a pair has to stay."""
    result = record.node.outputs[0]
    readers = graph.consumers.get(result, ())
    if result in graph.outputs:
        return "its result is an output of the model"
    inside = next((node.label for node in (record.node, *readers) if node.graph or node.bodies), "")
    return f"{inside} is in a subgraph or has one" if inside else ""


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Let all that read the QuantizeLinear read what the DequantizeLinear reads."""
    node, graph = record.node, edit.graph
    source = edit.inputs(graph.producers[node.inputs[0]])[0]
    for reader in graph.consumers.get(node.outputs[0], ()):
        for position, name in enumerate(reader.inputs):
            if name == node.outputs[0]:
                edit.connect(reader, position, source)
    return RepairMade("goes, with the DequantizeLinear before it", ())


USELESS_PAIRS = RepairRow(
    name="useless-pairs",
    what="takes out a DequantizeLinear and QuantizeLinear that give back the integers they read",
    hazards=frozenset(),
    price="nothing",
    free=True,
    refusal=refusal,
    apply=apply,
    rule="useless-quantization",
    nodes=nodes,
)
