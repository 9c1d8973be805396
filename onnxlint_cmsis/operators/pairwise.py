"""Operators that compute each element from elements of several inputs, which are broadcast."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.demands import elementwise_demand
from onnxlint_cmsis.operators.elementwise_ties import broadcast
from onnxlint_cmsis.operators.folds import fold_add, fold_div, fold_mul, fold_sub
from onnxlint_cmsis.operators.interval_arithmetic import PAIRS
from onnxlint_cmsis.operators.new_lane import ZEROS, NewLane
from onnxlint_cmsis.operators.pair_values import choice_values, mean_values, pair_values, quotient_values
from onnxlint_cmsis.operators.record import COMPUTES, OPAQUE, Operator, SizeRule, replace
from onnxlint_cmsis.operators.size_rules import multiplied_sizes
from onnxlint_cmsis.operators.views import ValueRule

TWO = Roles(data=(0, 1))
MANY = Roles(data=(0, 1), step=1)
"""Any number of operands."""
SECOND_ONE = NewLane(ones=(1,))
"""New elements of a constant second operand are 1."""


VALUES: Mapping[str, ValueRule] = {"Div": quotient_values, "Mean": mean_values, "Where": choice_values}
"""Transfer functions other than the function itself, taken two by two."""


def pairwise(
    name: str,
    roles: Roles = TWO,
    *,
    risk: Risk = Risk.NONE,
    zero: tuple[int, ...] = (),
    sizes: SizeRule | NotFollowed = COMPUTES,
) -> Operator:
    """Record of a function of two or more variables."""
    return Operator(
        name,
        broadcast,
        Elements.COMPUTED,
        risk,
        Layout.EITHER,
        new_lane=ZEROS,
        roles=roles,
        zero=zero,
        sizes=sizes,
        values=VALUES.get(name, pair_values(PAIRS[name]) if name in PAIRS else OPAQUE),
        demand=elementwise_demand,
    )


ADD = replace(pairwise("Add", risk=Risk.LARGE_OPERAND), fold=fold_add, slope=2.0)
MUL = replace(pairwise("Mul", risk=Risk.EXTREME_FACTOR, zero=(0, 1), sizes=multiplied_sizes), fold=fold_mul)
DIV = replace(pairwise("Div", risk=Risk.DIVISOR), new_lane=SECOND_ONE, fold=fold_div)
MAX = replace(pairwise("Max", MANY, risk=Risk.LARGE_OPERAND), slope=1.0)
MIN = replace(pairwise("Min", MANY, risk=Risk.LARGE_OPERAND), slope=1.0)
SUB = replace(pairwise("Sub", risk=Risk.LARGE_OPERAND), fold=fold_sub, slope=2.0)
WHERE = pairwise("Where", Roles(data=(0, 1, 2)), risk=Risk.LARGE_OPERAND)

PAIRWISE = (
    *(ADD, DIV, MAX, MIN, MUL, SUB, WHERE),
    pairwise("And"),
    pairwise("BitShift"),
    pairwise("BitwiseAnd"),
    pairwise("BitwiseOr"),
    pairwise("BitwiseXor"),
    replace(pairwise("Equal"), elements=Elements.COMPARED),
    replace(pairwise("Greater"), elements=Elements.COMPARED),
    replace(pairwise("GreaterOrEqual"), elements=Elements.COMPARED),
    replace(pairwise("Less"), elements=Elements.COMPARED),
    replace(pairwise("LessOrEqual"), elements=Elements.COMPARED),
    pairwise("Mean", MANY, risk=Risk.LARGE_OPERAND),
    replace(pairwise("Mod", risk=Risk.ALWAYS), new_lane=SECOND_ONE),
    pairwise("Or"),
    pairwise("PRelu", risk=Risk.EXTREME_FACTOR, zero=(0,)),
    replace(pairwise("Pow", risk=Risk.ALWAYS), new_lane=SECOND_ONE),
    pairwise("Sum", MANY, risk=Risk.LARGE_OPERAND),
    pairwise("Xor"),
)
