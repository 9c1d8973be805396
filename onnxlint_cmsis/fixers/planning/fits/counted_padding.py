"""An average that counts its padding as a depthwise convolution of equal weights, whose padding is zeros."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.stored_types import dequantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL


def _nodes(graph: Graph) -> Iterator[Node]:
    return (
        node
        for node in graph.nodes
        if canonical(node) == AVERAGE_POOL.name
        and node.int("count_include_pad")
        and any(node.ints("pads"))
        and not node.int("ceil_mode")
        and graph.elem_type(node.inputs[0]) == "float32"
        and 0 not in (graph.shape(node.outputs[0]) or ())
        and not dequantizes(graph.producers.get(node.inputs[0]))
    )


def refusal_of_counted_padding(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the average has to stay."""
    node = record.node
    shape = graph.shape(node.inputs[0]) or ()
    return None if len(shape) in (3, 4) and shape[1] else "its number of channels is not known"


COUNTED_PADDING = RepairRow(
    name="counted-padding",
    what="makes a depthwise convolution of an average that counts its padding",
    price="a weight for each element of the window and channel",
    free=True,
    unfit=refusal_of_counted_padding,
    rule="no-entry-point",
    nodes=_nodes,
)
