"""TensorFlow Lite's functions of one element, and of elements at the same place, which are broadcast."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.formats.tflite.name_rows import FIXED_POINT, TWICE, real_row
from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.answers import Elements, NotFollowed, Risk
from onnxlint_cmsis.operators.curve import at_its_place
from onnxlint_cmsis.operators.joined_values import cast_values, limited_values, same_values
from onnxlint_cmsis.operators.pairwise import pairwise
from onnxlint_cmsis.operators.record import COMPUTES, OPAQUE, Operator, replace
from onnxlint_cmsis.operators.size_rules import same_sizes
from onnxlint_cmsis.operators.stored_scales import through_scales
from onnxlint_cmsis.operators.views import ValueRule


def _curve(name: str, of: str, **rounding: Any) -> Operator:
    """A function of one variable; what it looks up is no choice of its elements, and in steps it has other bounds."""
    return real_row(name, of, sizes=COMPUTES, elements=Elements.COMPUTED, bounds=None, **rounding)


def _own_curve(name: str, values: ValueRule | NotFollowed = OPAQUE, **facets: Any) -> Operator:
    """A function of one variable that ONNX does not have."""
    return replace(at_its_place(name, zero=True), domain=TFLITE, values=values, **facets)


def _pair(name: str, of: str, **rounding: Any) -> Operator:
    """A function of two variables, or of any number taken two by two."""
    return real_row(name, of, sizes=COMPUTES, **rounding)


def _own_pair(name: str, data: tuple[int, ...] = (0, 1)) -> Operator:
    """A function that ONNX does not have; its numbers are not followed."""
    return replace(pairwise(name, Roles(data=data), risk=Risk.LARGE_OPERAND), domain=TFLITE, values=OPAQUE)


ELEMENTWISE = (
    _curve("ABS", "Abs", rescales=True),
    _curve("CEIL", "Ceil"),
    _curve("COS", "Cos"),
    _curve("ELU", "Elu", error=FIXED_POINT),
    _curve("EXP", "Exp", error=FIXED_POINT),
    _curve("FLOOR", "Floor"),
    _curve("GELU", "Gelu", error=FIXED_POINT),
    _curve("HARD_SWISH", "HardSwish", error=FIXED_POINT),
    _curve("LEAKY_RELU", "LeakyRelu", error=TWICE),
    _curve("LOG", "Log", error=FIXED_POINT),
    _curve("LOGICAL_NOT", "Not"),
    _curve("LOGISTIC", "Sigmoid", error=FIXED_POINT),
    _curve("NEG", "Neg"),
    _curve("RELU", "Relu", rescales=True),
    _curve("ROUND", "Round"),
    _curve("SIGN", "Sign"),
    _curve("SIN", "Sin"),
    _curve("SQRT", "Sqrt", error=FIXED_POINT),
    _curve("TANH", "Tanh", error=FIXED_POINT),
    _curve("RSQRT", "Reciprocal", values=OPAQUE, own_numbers=True),
    _own_curve("RELU6", through_scales(limited_values(0.0, 6.0), rescales=True)),
    _own_curve("RELU_N1_TO_1", through_scales(limited_values(-1.0, 1.0), rescales=True)),
    _own_curve("RELU_0_TO_1", through_scales(limited_values(0.0, 1.0), rescales=True)),
    _own_curve("SQUARE"),
    _own_curve("ZEROS_LIKE"),
    _own_curve("QUANTIZE", through_scales(same_values, rescales=True)),
    _own_curve("DEQUANTIZE", through_scales(same_values)),
    _own_curve("FAKE_QUANT"),
    _own_curve("CAST", cast_values, sizes=same_sizes),
    _pair("ADD", "Add"),
    _pair("SUB", "Sub"),
    _pair("MUL", "Mul", rescales=True),
    _pair("DIV", "Div", error=FIXED_POINT),
    _pair("MAXIMUM", "Max", copies=True),
    _pair("MINIMUM", "Min", copies=True),
    _pair("ADD_N", "Sum", values=OPAQUE),
    _pair("PRELU", "PRelu", values=OPAQUE),
    _pair("POW", "Pow", values=OPAQUE),
    _pair("EQUAL", "Equal"),
    _pair("GREATER", "Greater"),
    _pair("GREATER_EQUAL", "GreaterOrEqual"),
    _pair("LESS", "Less"),
    _pair("LESS_EQUAL", "LessOrEqual"),
    _pair("LOGICAL_AND", "And"),
    _pair("LOGICAL_OR", "Or"),
    _pair("FLOOR_DIV", "Div", values=OPAQUE, own_numbers=True),
    _pair("FLOOR_MOD", "Mod", values=OPAQUE),
    _own_pair("NOT_EQUAL"),
    _own_pair("SQUARED_DIFFERENCE"),
    _own_pair("SELECT_V2", (0, 1, 2)),
)
