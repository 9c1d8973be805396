"""An average that counts its padding, written as a depthwise convolution of equal weights."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_counted_padding(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the convolution in place of the pool.

    A Pad in front of a pool would be the same, but ONNX Runtime's pre-processing puts it back into the pool.
    """
    node, result = record.node, record.node.outputs[0]
    channels, window = (edit.graph.shape(node.inputs[0]) or ())[1] or 0, node.ints("kernel_shape")
    weights = edit.add_reals(f"{result}_weights", np.full((channels, 1, *window), 1 / prod(window)))
    kept = {name: list(node.ints(name)) for name in ("pads", "strides", "dilations") if node.ints(name)}
    inputs = [*edit.inputs(node)[:1], weights]
    edit.insert(node, "Conv", inputs, [result], group=channels, kernel_shape=list(window), **kept)
    edit.remove(node)
    return RepairMade(f"becomes a depthwise Conv of {channels} channels", (result,))
