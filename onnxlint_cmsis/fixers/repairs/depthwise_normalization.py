"""A normalization of an image written as a depthwise convolution of one weight for each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.lower.folded_weights import FoldedWeights, taken_in

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_depthwise_normalization(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the convolution in place of the normalization, with numbers in float32 that are computed in float64."""
    node, graph = record.node, edit.graph
    shape, result = graph.shape(node.inputs[0]) or (), node.outputs[0]
    channels, window = shape[1] or 0, [1] * (len(shape) - 2)
    plain = FoldedWeights(np.ones((channels, 1, *window)), np.zeros(channels))
    with np.errstate(all="ignore"):  # variances below 0
        layer = taken_in(graph, edit.read, node, node.inputs[0], plain)
    if layer is None:
        raise NotAppliedError(f"the numbers of {node.label} do not fit its {channels} channels")
    if not all(np.isfinite(values).all() for values in layer):
        raise NotAppliedError(f"a channel of {node.label} is divided by the root of no number above 0")
    numbers = [edit.add_reals(f"{result}_{name}", values) for name, values in zip(layer._fields, layer, strict=True)]
    inputs = [*edit.inputs(node)[:1], *numbers]
    edit.insert(node, "Conv", inputs, [result], group=channels, kernel_shape=window)
    edit.remove(node)
    return RepairMade(f"becomes a depthwise Conv of {channels} channels", (result,))
