"""Pieces of a tensor as Slices, which reference code copies."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.reshape import UNSIZED, sizes_of_reshape
from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.pieces import pieces
from onnxlint_cmsis.lower.without_function import is_shape_arithmetic
from onnxlint_cmsis.model.graph import Graph, Node

BOUNDS_AS_INPUTS = 10
"""First operator set whose Slice takes its bounds as inputs."""


def _nodes(graph: Graph) -> Iterator[Node]:
    return (
        node for node in graph.nodes if not node.domain and pieces(graph, node) and not is_shape_arithmetic(graph, node)
    )


def refusal_of_slices(graph: Graph, record: LoweredLayer) -> str | None:
    """Why the node has to stay."""
    node = record.node
    if node.opset < BOUNDS_AS_INPUTS:
        return f"the Slice of operator set {node.opset} takes its bounds otherwise"
    taken, shape = pieces(graph, node), graph.shape(node.inputs[0]) or ()
    if taken and not taken[0].axis and shape[0] == 1 and (canonical(node) == "Split" or _is_from_the_end(graph, node)):
        return f"{node.label} takes pieces of the batch, which may be another one"
    return UNSIZED if canonical(node) == "Gather" and sizes_of_reshape(graph, node) is None else None


def _is_from_the_end(graph: Graph, node: Node) -> bool:
    return (graph.constants[node.inputs[1]].integers() or (0,))[0] < 0


SLICES = RepairRow(
    name="slices",
    what="makes Slices of a Split, or of a Gather of one element",
    price="nothing",
    free=True,
    unfit=refusal_of_slices,
    rule="no-entry-point",
    nodes=_nodes,
)
