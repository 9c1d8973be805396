"""A tensor in place of a node's result, in the shape of that result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.reshape import sizes_of_reshape
from onnxlint_cmsis.lower.stored_types import quantizes

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.model.graph import Graph, Node


def put_reshaped(edit: GraphEdit, node: Node, tensor: str) -> None:
    """Put a Reshape of `tensor` in place of a node.

    A QuantizeLinear of one scale that alone reads the node's result moves in front of the Reshape, so that it stands
    right behind what makes `tensor`.
    """
    graph, result = edit.graph, node.outputs[0]
    sizes = edit.add_integers(f"{result}_sizes", sizes_of_reshape(graph, node) or ())
    readers = graph.consumers.get(result, ())
    last, moved = node, tensor
    if len(readers) == 1 and _moves(graph, readers[0], result) and result not in graph.ends:
        last, moved = readers[0], edit.fresh(f"{readers[0].outputs[0]}_{tensor}")
        edit.insert_like(last, last, f"{moved}_node", [tensor, *edit.inputs(last)[1:]], [moved])
    edit.insert(last, "Reshape", [moved, sizes], [last.outputs[0]])
    for gone in dict.fromkeys((node, last)):
        edit.remove(gone)


def _moves(graph: Graph, reader: Node, result: str) -> bool:
    """Tell whether a reader quantizes a result by one scale, whatever its axes are."""
    if not quantizes(reader) or reader.graph or reader.inputs[0] != result:
        return False
    return not graph.shape(reader.inputs[1])
