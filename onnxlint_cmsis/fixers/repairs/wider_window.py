"""Columns of zeros around the weights of a 1xN convolution, so that its padding is what the kernel on MVE computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.more_columns import MOST_COLUMNS, more_columns
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.wider_window import WIDEST_WINDOW, wider
from onnxlint_cmsis.fixers.repairs.zero_taps import surround
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_wider_window(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros around the weights: as few as give a call without known hazards.

    The kernel takes the padding before to be half of all padding, and all of that to follow from the output's width. A
    window that is wider by zeros, with as much more padding before, gives the same sums and can meet both.
    """
    window = next((candidate for candidate in wider(record) if edit.clean(candidate.call)), None)
    if window is None:
        raise NotAppliedError(f"no window of up to {WIDEST_WINDOW} more columns is computed rightly")
    widen(edit, record, (window.before, window.after), window.call)
    zeros = f"zeros along the width of its weights ({window.before} before, {window.after} behind)"
    text = f"gets {zeros} and a padding of {window.call.padding.w} before and {window.call.pad_after.w} after"
    return RepairMade(text, (record.node.outputs[0],))


def widen(edit: GraphEdit, record: LoweredLayer, columns: tuple[int, int], call: KernelCall) -> None:
    """Put columns of zeros before and behind the weights, and give the layer the padding of the call."""
    node, axes = record.node, len(edit.graph.shape(record.node.outputs[0]) or ()) - 2
    surround(edit, record, (*[(0, 0)] * (axes - 1), columns))
    pads = [*call.padding[2 - axes :], *call.pad_after[2 - axes :]]
    kernel = node.ints("kernel_shape")
    larger = {"kernel_shape": [*kernel[:-1], call.filter_dims.w]} if kernel else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **larger)


def apply_more_columns(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: as few as give a call without known hazards. Raises NotAppliedError.

    arm_convolve_s16 adds the columns above 512 in a loop that is wrong for the last of an odd number of output
    channels unless four divides the columns.
    """
    for count, call in enumerate(more_columns(record), 1):
        if edit.clean(call):
            widen(edit, record, (0, count), call)
            text = f"gets {count} column{'s' * (count > 1)} of zeros behind its weights and as much more padding"
            return RepairMade(text, (record.node.outputs[0],))
    raise NotAppliedError(f"no window of up to {MOST_COLUMNS} more columns is computed rightly")
