"""A tensor in place of a node's result, in the shape of that result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.stored_types import quantizes

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.model.graph import Node


def put_reshaped(edit: GraphEdit, node: Node, tensor: str) -> None:
    """Put a Reshape of `tensor` in place of a node.

    A QuantizeLinear that alone reads the node's result moves in front of the Reshape, so that it stands right behind
    what makes `tensor`.
    """
    graph, result = edit.graph, node.outputs[0]
    sizes = edit.add_integers(f"{result}_sizes", [size or 0 for size in graph.shape(result) or ()])
    readers = graph.consumers.get(result, ())
    last, moved = node, tensor
    if len(readers) == 1 and quantizes(readers[0]) and result not in graph.ends and not readers[0].graph:
        last, moved = readers[0], edit.fresh(f"{readers[0].outputs[0]}_{tensor}")
        edit.insert_like(last, last, f"{moved}_node", [tensor, *edit.inputs(last)[1:]], [moved])
    edit.insert(last, "Reshape", [moved, sizes], [last.outputs[0]])
    for gone in dict.fromkeys((node, last)):
        edit.remove(gone)
