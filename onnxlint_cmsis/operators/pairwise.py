"""Operators that compute each element from elements of several inputs, which are broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.arithmetic import (
    PAIRS,
    called,
    choice_values,
    elementwise_demand,
    mean_values,
    pair_values,
    quotient_values,
    through_scales,
)
from onnxlint_cmsis.operators.common_ties import broadcast, multiplied_sizes
from onnxlint_cmsis.operators.record import (
    COMPUTES,
    NO_SHAPE_ARITHMETIC,
    OPAQUE,
    ZEROS,
    Elements,
    Layout,
    NewLane,
    NotFollowed,
    Operator,
    Risk,
    SizeRule,
    ValueRule,
    alias,
    fold_add,
    fold_div,
    fold_mul,
    fold_sub,
)

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
        values=VALUES.get(name, pair_values if name in PAIRS else OPAQUE),
        demand=elementwise_demand,
    )


ADD = replace(pairwise("Add", risk=Risk.LARGE_OPERAND), fold=fold_add)
MUL = replace(pairwise("Mul", risk=Risk.EXTREME_FACTOR, zero=(0, 1), sizes=multiplied_sizes), fold=fold_mul)
DIV = replace(pairwise("Div", risk=Risk.DIVISOR), new_lane=SECOND_ONE, fold=fold_div)
MAX = pairwise("Max", MANY, risk=Risk.LARGE_OPERAND)
MIN = pairwise("Min", MANY, risk=Risk.LARGE_OPERAND)
SUB = replace(pairwise("Sub", risk=Risk.LARGE_OPERAND), fold=fold_sub)
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


# TensorFlow Lite's operators that compute each element from elements of several inputs, which are broadcast.


ONNX_PAIRS: Mapping[str, Operator] = {record.name: record for record in PAIRWISE}


def _pair(name: str, of: str, *, error: float = 0.0, rescales: bool = False, copies: bool = False) -> Operator:
    """A function that ONNX has too."""
    made = replace(alias(name, TFLITE, ONNX_PAIRS[of]), sizes=COMPUTES, fold=NO_SHAPE_ARITHMETIC)
    rule = made.values
    if not callable(rule):
        return made
    return replace(made, values=through_scales(rule, called(of), error=error, rescales=rescales, copies=copies))


def _own(name: str, data: tuple[int, ...] = (0, 1)) -> Operator:
    """A function that ONNX does not have; its numbers are not followed."""
    made = pairwise(name, Roles(data=data), risk=Risk.LARGE_OPERAND)
    return replace(made, domain=TFLITE, values=OPAQUE)


FIXED_POINT = 1.0
"""How far a kernel in fixed-point numbers may be from the function, in steps of the result."""

TFLITE_PAIRWISE = (
    _pair("ADD", "Add"),
    _pair("SUB", "Sub"),
    _pair("MUL", "Mul", rescales=True),
    _pair("DIV", "Div", error=FIXED_POINT),
    _pair("MAXIMUM", "Max", copies=True),
    _pair("MINIMUM", "Min", copies=True),
    replace(_pair("ADD_N", "Sum"), values=OPAQUE),
    replace(_pair("PRELU", "PRelu"), values=OPAQUE),
    replace(_pair("POW", "Pow"), values=OPAQUE),
    _pair("EQUAL", "Equal"),
    _pair("GREATER", "Greater"),
    _pair("GREATER_EQUAL", "GreaterOrEqual"),
    _pair("LESS", "Less"),
    _pair("LESS_EQUAL", "LessOrEqual"),
    _pair("LOGICAL_AND", "And"),
    _pair("LOGICAL_OR", "Or"),
    replace(_pair("FLOOR_DIV", "Div"), values=OPAQUE),
    replace(_pair("FLOOR_MOD", "Mod"), values=OPAQUE),
    _own("NOT_EQUAL"),
    _own("SQUARED_DIFFERENCE"),
    _own("SELECT_V2", (0, 1, 2)),
)
