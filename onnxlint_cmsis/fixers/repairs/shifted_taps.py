"""Rows and columns of zeros around the weights of a transposed convolution, with as much more padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.shifted_taps import MOST_SHIFTED_TAPS, shifted
from onnxlint_cmsis.fixers.repairs.zero_taps import surround
from onnxlint_cmsis.ground.errors import NotAppliedError

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_shifted_taps(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Shift the weights by as few rows as give a call without known hazards. Raises NotAppliedError.

    With k rows of zeros before the weights and k more padding, an output row sums over the same products. That gives
    the padding that the direct kernel of CMSIS-NN wants: a multiple of the stride, and so much that no row is written
    past the output. Zeros behind the weights make its row buffer long enough. Where the padding exceeds what the input
    spreads to, the first rows of the weights meet no input, and are cut off with as much padding.
    """
    taps = next((shift for shift in shifted(record) if edit.clean(shift.call)), None)
    if taps is None:
        raise NotAppliedError(f"no weights with up to {MOST_SHIFTED_TAPS} more rows are computed rightly")
    node, call = record.node, taps.call
    surround(edit, record, ((taps.rows, 0), (0, taps.columns)))
    pads = list(node.ints("pads") or (0, 0, 0, 0))
    pads = [pads[0] + taps.rows, pads[1], pads[2], pads[3] + taps.columns]
    kernel = {"kernel_shape": [call.filter_dims.h, call.filter_dims.w]} if node.ints("kernel_shape") else {}
    edit.set_attributes(node, "auto_pad", pads=pads, **kernel)
    words = []
    if taps.rows < 0:
        words.append(f"loses {_counted(-taps.rows, 'row')} of its weights that meet no input")
    if taps.rows > 0:
        words.append(f"gets {_counted(taps.rows, 'row')} of zeros before its weights")
    if taps.columns:
        words.append(f"gets {_counted(taps.columns, 'column')} of zeros behind its weights")
    return RepairMade(f"{', '.join(words)}, and pads={pads}", (node.outputs[0],))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}"
