"""Softmax's result with the scale and zero-point that CMSIS-NN gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.repairs.requantizing import Requantizing, outputs_told
from onnxlint_cmsis.lower.softmax import function_output

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer


def apply_softmax_output(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Change the scale and zero-point of the result and of all that reads it. Raises NotAppliedError."""
    fixed = function_output(record)
    if fixed is None or record.output is None or record.epilogue is None:
        return RepairMade("", ())
    wanted, words = fixed
    requantizing = Requantizing(edit)
    requantizing.give((record.epilogue.tensor,), wanted)
    zero = (wanted.zero_points or (0,))[0]
    old_zero = (record.output.zero_points or (0,))[0]
    text = f"writes scale {words} and zero-point {zero}, not {record.output.scale:.6g} and {old_zero}"
    told = [outputs_told(requantizing.outputs((record.epilogue.tensor,)), words, zero)]
    return RepairMade("; ".join(filter(None, (text, *told))), ())
