"""Repairs of layers of a `.tflite` file: a bias of zeros and wider windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.constants import bias_slot
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.wider_window import WIDEST_WINDOW, wider
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx import element_codes
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.tflite_edit import TfliteGraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def add_bias(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    """Store zeros in the unit of input scale times weight scale."""
    node, slot = record.node, bias_slot(edit.graph, record.node)
    channels = record.layer.call.output_dims.c if record.layer else None
    if slot is None or channels is None:
        raise NotAppliedError(f"the output channels of {node.label} are not known")
    edit.add_bias(node, slot.position, np.zeros(channels, np.int64))
    return RepairMade("gets a bias of zeros", (node.outputs[0],))


def widen(edit: TfliteGraphEdit, record: LoweredLayer) -> RepairMade:
    """Put columns of zeros around the weights, and leave the padding to the operator's option."""
    window = next((candidate for candidate in wider(record) if edit.clean(candidate.call)), None)
    if window is None:
        raise NotAppliedError(f"no window of up to {WIDEST_WINDOW} more columns is computed rightly")
    weights = operator_of(record.node).roles.second
    stored = edit.graph.quantization.get(record.node.inputs[weights])
    zeros = set(stored.zero_points) if stored else set()
    if len(zeros) > 1:
        raise NotAppliedError("the zero-points of its weights differ")
    old = edit.stored(record.node, weights)
    more = [(0, 0)] * old.codes.ndim
    more[-2] = (window.before, window.after)
    zero = element_codes.number(old.elem_type, min(zeros, default=0))
    codes = np.pad(old.codes, more, constant_values=np.array(zero, old.codes.dtype))
    edit.write(record.node, weights, codes, old.elem_type)
    text = f"gets zeros along the width of its weights ({window.before} before, {window.after} behind)"
    return RepairMade(text, (record.node.outputs[0],))
