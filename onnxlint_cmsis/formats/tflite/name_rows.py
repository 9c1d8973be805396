"""How a row of names is made of a record of ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnxlint_cmsis.formats.onnx.names import OPERATORS
from onnxlint_cmsis.model.graph import TFLITE
from onnxlint_cmsis.operators.answers import Layout, Risk
from onnxlint_cmsis.operators.record import NO_SHAPE_ARITHMETIC, OPAQUE, READS_ALL, Operator, alias
from onnxlint_cmsis.operators.stored_scales import through_scales


def named_row(name: str, of: str, **facets: Any) -> Operator:
    """An operator that is read as one of ONNX."""
    return alias(name, TFLITE, OPERATORS["", of], layout=Layout.ORDERED, fold=NO_SHAPE_ARITHMETIC, **facets)


NOT_FOLLOWED: Mapping[str, Any] = {"values": OPAQUE, "demand": READS_ALL, "risk": Risk.NONE, "bounds": None}
"""The numbers that it computes."""


FIXED_POINT = 1.0
"""How far a kernel in fixed-point numbers may be from the real function, in steps of the result.

Kernels of int8 and int16 look values up or compute in fixed-point numbers
(tensorflow/lite/kernels/internal/reference/integer_ops).
"""


TWICE = 0.5
"""How far two roundings of one product may be, whatever its factor: below 0 that of LEAKY_RELU has the slope in it."""


def real_row(
    name: str, of: str, *, error: float = 0.0, rescales: bool = False, copies: bool = False, **facets: Any
) -> Operator:
    """A function of real numbers; how its kernel rounds is what `through_scales` is given."""
    rule = OPERATORS["", of].values
    if callable(rule):
        facets = {"values": through_scales(rule, error=error, rescales=rescales, copies=copies), **facets}
    return named_row(name, of, **facets)
