"""A mean over the plane or the time of an image written as an average pool of that window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.lower.means import window_of_mean
from onnxlint_cmsis.lower.stored_types import quantizes
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_mean_pool(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the pool in place of the mean, and behind it a Reshape where the mean drops the axes.

    A QuantizeLinear that alone reads the mean moves in front of the Reshape, so that it stands right behind the pool.
    """
    node, graph = record.node, edit.graph
    window, result = window_of_mean(graph, node), node.outputs[0]
    before, after = graph.shape(node.inputs[0]) or (), graph.shape(result) or ()
    text = f"becomes an AveragePool with kernel_shape={list(window)}"
    if len(before) == len(after):
        edit.insert(node, AVERAGE_POOL.name, edit.inputs(node)[:1], [result], kernel_shape=list(window))
        edit.remove(node)
        return RepairMade(text, (result,))
    pooled = edit.fresh(f"{result}_pooled")
    edit.insert(node, AVERAGE_POOL.name, edit.inputs(node)[:1], [pooled], kernel_shape=list(window))
    sizes = edit.add_integers(f"{result}_sizes", [size or 0 for size in after])
    readers = graph.consumers.get(result, ())
    last, moved = node, pooled
    if len(readers) == 1 and quantizes(readers[0]) and result not in graph.ends and not readers[0].graph:
        last, moved = readers[0], edit.fresh(f"{readers[0].outputs[0]}_pooled")
        edit.insert_like(last, last, f"{moved}_node", [pooled, *edit.inputs(last)[1:]], [moved])
    edit.insert(last, "Reshape", [moved, sizes], [last.outputs[0]])
    for gone in dict.fromkeys((node, last)):
        edit.remove(gone)
    return RepairMade(f"{text} and a Reshape", (pooled,))
