"""Operators that take the elements along some axes together, and others that mix one axis."""

from __future__ import annotations

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.record import Operator, TieRule
from onnxlint_cmsis.operators.ties import mixing_ties as ties


def _mixing(
    name: str, axes: TieRule = ties.reduce, risk: Risk = Risk.NONE, bounds: tuple[float, float] | None = None
) -> Operator:
    return Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, bounds=bounds)


SOFTMAX = _mixing("Softmax", ties.softmax, bounds=(0.0, 1.0))

REDUCTIONS = (
    SOFTMAX,
    _mixing("ArgMax", ties.arg_extreme),
    _mixing("ArgMin", ties.arg_extreme),
    _mixing("CumSum", ties.along_axis),
    _mixing("Hardmax", ties.softmax, bounds=(0.0, 1.0)),
    _mixing("LogSoftmax", ties.softmax),
    _mixing("ReduceL1"),
    _mixing("ReduceL2"),
    _mixing("ReduceLogSum", risk=Risk.ALWAYS),
    _mixing("ReduceLogSumExp"),
    _mixing("ReduceMax"),
    _mixing("ReduceMean"),
    _mixing("ReduceMin"),
    _mixing("ReduceProd", risk=Risk.ALWAYS),
    _mixing("ReduceSum"),
    _mixing("ReduceSumSquare"),
    _mixing("TopK", ties.top_k),
)
