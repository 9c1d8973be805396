"""Operators that take the elements along some axes together, and others that mix one axis."""

from __future__ import annotations

from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.operators import summaries
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.demands import reduction_demand
from onnxlint_cmsis.operators.mixing_ties import along_axis, arg_extreme, reduce, softmax, top_k
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.norm_values import share_values
from onnxlint_cmsis.operators.record import OPAQUE, Operator, TieRule, replace
from onnxlint_cmsis.operators.views import ValueRule

AXES = Roles(numbers={"axes": Stated("axes", 1)})
"""The axes are an attribute or an input, by opset."""


def _mixing(
    name: str,
    axes: TieRule,
    values: ValueRule | NotFollowed = OPAQUE,
    risk: Risk = Risk.NONE,
    bounds: tuple[float, float] | None = None,
) -> Operator:
    operator = Operator(name, axes, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS)
    return replace(operator, bounds=bounds, values=values, roles=AXES if axes is reduce else Roles())


def _reduction(name: str, summary: summaries.Summary, risk: Risk = Risk.NONE) -> Operator:
    """Elements along some axes taken together."""
    return replace(_mixing(name, reduce, summaries.reduction(summary), risk), demand=reduction_demand)


AXIS_INPUT = Roles(numbers={"axis": Stated(input=1)})
SOFTMAX = replace(_mixing("Softmax", softmax, share_values, bounds=(0.0, 1.0)), slope=0.5)
"""The slopes of a share along all inputs are 2p(1-p) together."""

REDUCE_MEAN = replace(_reduction("ReduceMean", summaries.mean), slope=1.0)

REDUCTIONS = (
    SOFTMAX,
    _mixing("ArgMax", arg_extreme),
    _mixing("ArgMin", arg_extreme),
    replace(_mixing("CumSum", along_axis, summaries.running_total), roles=AXIS_INPUT),
    _mixing("Hardmax", softmax, share_values, bounds=(0.0, 1.0)),
    _mixing("LogSoftmax", softmax),
    _reduction("ReduceL1", summaries.norm),
    _reduction("ReduceL2", summaries.norm),
    _reduction("ReduceLogSum", summaries.log_total, Risk.ALWAYS),
    _mixing("ReduceLogSumExp", reduce),
    replace(_reduction("ReduceMax", summaries.largest), slope=1.0),
    REDUCE_MEAN,
    replace(_reduction("ReduceMin", summaries.largest), slope=1.0),
    _reduction("ReduceProd", summaries.product, Risk.ALWAYS),
    _reduction("ReduceSum", summaries.total),
    _reduction("ReduceSumSquare", summaries.norm),
    _mixing("TopK", top_k, summaries.picked_values),
)
