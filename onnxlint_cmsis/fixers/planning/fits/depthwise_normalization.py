"""A normalization that goes into no weights as a depthwise convolution of one weight for each channel."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.stored_types import dequantizes
from onnxlint_cmsis.lower.unfolded import apart
from onnxlint_cmsis.model.graph import Graph, Node


def _nodes(graph: Graph) -> Iterator[Node]:
    return (
        node
        for node in apart(graph)
        if graph.elem_type(node.inputs[0]) == "float32" and not dequantizes(graph.producers.get(node.inputs[0]))
    )


def refusal_of_depthwise_normalization(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the normalization has to stay."""
    node = record.node
    return None if (graph.shape(node.inputs[0]) or (None, None))[1] else "its number of channels is not known"


DEPTHWISE_NORMALIZATION = RepairRow(
    name="depthwise-normalization",
    what="makes a depthwise convolution of a normalization that no layer in front can take into its weights",
    price="a layer of one multiplication for each value",
    free=True,
    unfit=refusal_of_depthwise_normalization,
    rule="no-entry-point",
    nodes=_nodes,
)
