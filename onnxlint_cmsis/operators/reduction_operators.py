"""Operators that take the elements along some axes together, and others that mix one axis."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import OPAQUE, Operator, TieRule
from onnxlint_cmsis.operators.ties import mixing_ties as ties
from onnxlint_cmsis.operators.values.demands import reduction_demand
from onnxlint_cmsis.operators.values.normalizations import share_values
from onnxlint_cmsis.operators.values.planes import (
    Summary,
    largest,
    log_total,
    mean,
    norm,
    picked_values,
    product,
    reduction,
    running_total,
    total,
)
from onnxlint_cmsis.operators.values.value_view import ValueRule


def _mixing(
    name: str,
    axes: TieRule,
    values: ValueRule | NotFollowed = OPAQUE,
    risk: Risk = Risk.NONE,
    bounds: tuple[float, float] | None = None,
) -> Operator:
    made = Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS)
    return replace(made, bounds=bounds, values=values)


def _reduction(name: str, summary: Summary, risk: Risk = Risk.NONE) -> Operator:
    """Elements along some axes taken together."""
    return replace(_mixing(name, ties.reduce, reduction(summary), risk), demand=reduction_demand)


SOFTMAX = _mixing("Softmax", ties.softmax, share_values, bounds=(0.0, 1.0))

REDUCE_MEAN = _reduction("ReduceMean", mean)

REDUCTIONS = (
    SOFTMAX,
    _mixing("ArgMax", ties.arg_extreme),
    _mixing("ArgMin", ties.arg_extreme),
    _mixing("CumSum", ties.along_axis, running_total),
    _mixing("Hardmax", ties.softmax, share_values, bounds=(0.0, 1.0)),
    _mixing("LogSoftmax", ties.softmax),
    _reduction("ReduceL1", norm),
    _reduction("ReduceL2", norm),
    _reduction("ReduceLogSum", log_total, Risk.ALWAYS),
    _mixing("ReduceLogSumExp", ties.reduce),
    _reduction("ReduceMax", largest),
    REDUCE_MEAN,
    _reduction("ReduceMin", largest),
    _reduction("ReduceProd", product, Risk.ALWAYS),
    _reduction("ReduceSum", total),
    _reduction("ReduceSumSquare", norm),
    _mixing("TopK", ties.top_k, picked_values),
)
