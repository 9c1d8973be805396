"""TensorFlow Lite's operators that compute each element from elements of several inputs, which are broadcast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onnxlint_cmsis.graph.model import TFLITE
from onnxlint_cmsis.operators import pairwise_operators as onnx
from onnxlint_cmsis.operators.facets import Risk
from onnxlint_cmsis.operators.record import COMPUTES, NO_SHAPE_ARITHMETIC, OPAQUE, Operator, alias
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.values.stored_scales import called, through_scales

ONNX_PAIRS: Mapping[str, Operator] = {record.name: record for record in onnx.PAIRWISE}


def _pair(name: str, of: str, *, error: float = 0.0, rescales: bool = False, copies: bool = False) -> Operator:
    """A function that ONNX has too."""
    made = replace(alias(name, TFLITE, ONNX_PAIRS[of]), sizes=COMPUTES, fold=NO_SHAPE_ARITHMETIC)
    rule = made.values
    if not callable(rule):
        return made
    return replace(made, values=through_scales(rule, called(of), error=error, rescales=rescales, copies=copies))


def _own(name: str, data: tuple[int, ...] = (0, 1)) -> Operator:
    """A function that ONNX does not have; its numbers are not followed."""
    made = onnx.pairwise(name, Roles(data=data), risk=Risk.LARGE_OPERAND)
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
