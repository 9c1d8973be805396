"""Which operator becomes which form of layer: one row per operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.reading.elementwise import build_add, build_mul
from firmware_check.reading.lookups import CURVES, build_arithmetic, build_curve
from firmware_check.reading.moves import build_resize, build_slice
from firmware_check.reading.unweighted import (
    build_activation,
    build_concat,
    build_pad,
    build_pool,
    build_softmax,
)
from firmware_check.reading.weighted import build_convolution, build_dense, build_transpose

if TYPE_CHECKING:
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.graph.model import Node


class Operator(NamedTuple):
    """How an operator between quantized tensors is read."""

    build: Callable[[Builder, Node], None]
    """Makes its layer."""
    forms: tuple[str, ...]
    """Forms that the layer may take, by name."""
    limits: str = ""
    """What of it does not run, for the documentation."""


OPERATORS: dict[tuple[str, str], Operator] = {
    ("", "Conv"): Operator(
        build_convolution, ("convolve", "depthwise"), "three dimensions; weights with a zero-point or of 4 bits"
    ),
    ("", "ConvTranspose"): Operator(build_transpose, ("transpose_conv",), "groups, dilations"),
    ("", "Gemm"): Operator(build_dense, ("fully_connected",), "transA, alpha, beta; a product of two activations"),
    ("", "MatMul"): Operator(build_dense, ("fully_connected",), "a product of two activations"),
    ("", "AveragePool"): Operator(build_pool, ("avgpool",), "dilations; counted padding where sizes are rounded up"),
    ("", "GlobalAveragePool"): Operator(build_pool, ("avgpool",)),
    ("", "MaxPool"): Operator(build_pool, ("max_pool",), "dilations; a second output"),
    ("", "GlobalMaxPool"): Operator(build_pool, ("max_pool",)),
    ("", "Add"): Operator(build_add, ("add", "lookup"), "a float constant of several values"),
    ("", "Sum"): Operator(build_add, ("add", "lookup"), "more than two operands; a float constant of several values"),
    ("", "Mul"): Operator(build_mul, ("mul", "lookup"), "a float constant of several values"),
    ("", "Sub"): Operator(build_arithmetic, ("lookup",), "all but a single constant as one operand"),
    ("", "Div"): Operator(build_arithmetic, ("lookup",), "all but a single constant as one operand"),
    ("", "Softmax"): Operator(
        build_softmax, ("softmax",), "several axes; int16 with an output that is not of scale 1/32768"
    ),
    ("", "Concat"): Operator(build_concat, ("concat",)),
    ("", "Pad"): Operator(build_pad, ("pad",), "modes other than constant; more than four axes; negative amounts"),
    ("", "Relu"): Operator(build_activation, ("requantize",)),
    ("", "Clip"): Operator(build_activation, ("requantize",)),
    ("", "Slice"): Operator(build_slice, ("move",), "computed bounds"),
    ("", "Resize"): Operator(build_resize, ("move",), "interpolation; factors that are not whole"),
    ("", "Upsample"): Operator(build_resize, ("move",), "interpolation; factors that are not whole"),
    **{name: Operator(build_curve, ("lookup",)) for name in CURVES},
}

MOVES = ("Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
"""Operators that only move elements; layers behind them read the same memory in another way."""
