"""TensorFlow Lite's operators that take the elements along some axes together, or mix an axis."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.operators.facets import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import OPAQUE, READS_ALL, Operator, TieRule
from onnxlint_cmsis.operators.ties import tflite_mixing_ties as ties
from onnxlint_cmsis.operators.values.demands import reduction_demand
from onnxlint_cmsis.operators.values.planes import Summary, largest, mean, reduction, total
from onnxlint_cmsis.operators.values.stored_scales import called, through_scales
from onnxlint_cmsis.operators.values.value_view import DemandRule, ValueRule

FIXED_POINT = 1.0
"""How far a kernel in fixed-point numbers may be from the function, in steps of the result."""
AS_REDUCE = called("ReduceMean", keepdims="keep_dims")


def _mixing(
    name: str,
    axes: TieRule,
    values: ValueRule | NotFollowed = OPAQUE,
    demand: DemandRule | NotFollowed = READS_ALL,
) -> Operator:
    made = Operator(name, axes, Elements.COMPUTED, Risk.NONE, Layout.EITHER, domain=TFLITE, new_lane=ZEROS)
    return replace(made, values=values, demand=demand)


def _reduction(name: str, summary: Summary, *, copies: bool = False) -> Operator:
    """Elements along the axes that input 1 lists."""
    rule = through_scales(reduction(summary), AS_REDUCE, error=FIXED_POINT, copies=copies)
    return _mixing(name, ties.reduce, rule, reduction_demand)


TFLITE_REDUCTIONS = (
    _reduction("MEAN", mean),
    _reduction("SUM", total),
    _reduction("REDUCE_MAX", largest, copies=True),
    _reduction("REDUCE_MIN", largest, copies=True),
    _mixing("REDUCE_ALL", ties.reduce),
    _mixing("REDUCE_ANY", ties.reduce),
    _mixing("REDUCE_PROD", ties.reduce),
    _mixing("ARG_MAX", ties.arg_extreme),
    _mixing("ARG_MIN", ties.arg_extreme),
    _mixing("SOFTMAX", ties.along_last),
    _mixing("LOG_SOFTMAX", ties.along_last),
    _mixing("L2_NORMALIZATION", ties.along_last),
    _mixing("CUMSUM", ties.cumsum),
)
