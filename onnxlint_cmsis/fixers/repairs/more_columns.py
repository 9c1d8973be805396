"""Columns of zeros behind the weights of an int16 convolution, with as much more padding after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.wider_window import widen
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


MOST_COLUMNS = 3
"""Columns of zeros that are added at most: four divides the columns then."""


def apply_more_columns(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: as few as give a call without known hazards. Raises NotAppliedError.

    arm_convolve_s16 adds the columns above 512 in a loop that is wrong for the last of an odd number of output
    channels unless four divides the columns.
    """
    if record.layer is None:
        raise NotAppliedError(f"{record.node.label} is no layer")
    call = record.layer.call
    width, after = call.filter_dims.w or 0, call.pad_after.w or 0
    for more in range(1, MOST_COLUMNS + 1):
        padded = call.pad_after._replace(w=after + more * (call.dilation.w or 1))
        widened = call._replace(filter_dims=call.filter_dims._replace(w=width + more), pad_after=padded)
        if edit.clean(widened):
            widen(edit, record, (0, more), widened)
            text = f"gets {more} columns of zeros behind its weights and as much more padding"
            return RepairMade(text, (record.node.outputs[0],))
    raise NotAppliedError(f"no window of up to {MOST_COLUMNS} more columns is computed rightly")
