"""A mean or a maximum over the plane or the time of an image written as a pool of that window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.reshaped import put_reshaped
from onnxlint_cmsis.lower.means import window_of_largest, window_of_mean
from onnxlint_cmsis.operators.pooling import AVERAGE_POOL, MAX_POOL

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_mean_pool(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the pool in place of the mean or maximum, and behind it a Reshape where that drops the axes."""
    node, graph = record.node, edit.graph
    largest, result = window_of_largest(graph, node), node.outputs[0]
    window, pool = (largest, MAX_POOL) if largest else (window_of_mean(graph, node), AVERAGE_POOL)
    text = f"becomes {'a' if largest else 'an'} {pool.name} with kernel_shape={list(window)}"
    if len(graph.shape(node.inputs[0]) or ()) == len(graph.shape(result) or ()):
        edit.insert(node, pool.name, edit.inputs(node)[:1], [result], kernel_shape=list(window))
        edit.remove(node)
        return RepairMade(text, (result,))
    pooled = edit.fresh(f"{result}_pooled")
    edit.insert(node, pool.name, edit.inputs(node)[:1], [pooled], kernel_shape=list(window))
    put_reshaped(edit, node, pooled)
    return RepairMade(f"{text} and a Reshape", (pooled,))
