"""What the records of operators of both formats have in common."""

from __future__ import annotations

from onnxlint_cmsis.formats.onnx.names import OPERATORS
from onnxlint_cmsis.formats.tflite.names import TFLITE_OPERATORS
from onnxlint_cmsis.operators.answers import NotFollowed
from onnxlint_cmsis.operators.curve_values import CurveValues
from onnxlint_cmsis.operators.new_lane import NewLane
from onnxlint_cmsis.operators.record import Operator

ONNX_RECORDS = sorted(OPERATORS.values(), key=lambda operator: (operator.domain, operator.name))
"""Every operator of ONNX's domains."""
TFLITE_RECORDS = sorted(TFLITE_OPERATORS.values(), key=lambda operator: operator.name)
"""Every operator of `.tflite` files."""
CURVES = {record.name: record.values.curve for record in ONNX_RECORDS if isinstance(record.values, CurveValues)}
"""Functions of one number by the name of their operator."""


def record_id(operator: Operator) -> str:
    """Name of a test of a record."""
    return f"{operator.domain or 'ai.onnx'}.{operator.name}"


def answers_or_declines_new_lane(operator: Operator) -> bool:
    """Whether a record says what new lanes hold exactly where its axes are followed, and a reason elsewhere."""
    if callable(operator.axes):
        return isinstance(operator.new_lane, NewLane)
    return isinstance(operator.new_lane, NotFollowed) and bool(operator.new_lane.because)
