"""Columns of zeros behind the weights of an int16 convolution, with as much more padding after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.more_columns import MOST_COLUMNS, more_columns
from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.wider_window import widen
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_more_columns(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Put the zeros behind the weights: as few as give a call without known hazards. Raises NotAppliedError.

    arm_convolve_s16 adds the columns above 512 in a loop that is wrong for the last of an odd number of output
    channels unless four divides the columns.
    """
    for count, call in enumerate(more_columns(record), 1):
        if edit.clean(call):
            widen(edit, record, (0, count), call)
            text = f"gets {count} columns of zeros behind its weights and as much more padding"
            return RepairMade(text, (record.node.outputs[0],))
    raise NotAppliedError(f"no window of up to {MOST_COLUMNS} more columns is computed rightly")
