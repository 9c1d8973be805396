"""Operators with the forms of layers they become, and the builder of each form."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from firmware_check.reading.copies import build_copy
from firmware_check.reading.lookups import CURVES, build_lookup
from firmware_check.reading.pairs import build_elementwise, build_extreme
from firmware_check.reading.pools import build_concat, build_pad, build_pool, build_requantize, build_softmax
from firmware_check.reading.state import Workspace
from firmware_check.reading.weighted import build_convolution, build_dense, build_transpose
from onnxlint_cmsis.lower.lowered import LoweredLayer

Build = Callable[["Workspace", "LoweredLayer", str], None]
"""Makes the layer of a record; the text is the reason of reference code, empty for a function of CMSIS-NN."""


BUILDS: dict[str, Build] = {
    "convolve": build_convolution,
    "depthwise": build_convolution,
    "transpose_conv": build_transpose,
    "fully_connected": build_dense,
    "avgpool": build_pool,
    "max_pool": build_pool,
    "elementwise_add": build_elementwise,
    "elementwise_mul": build_elementwise,
    "maximum": build_extreme,
    "minimum": build_extreme,
    "softmax": build_softmax,
    "concatenation": build_concat,
    "pad": build_pad,
    "requantize": build_requantize,
    "lookup": build_lookup,
    "move": build_copy,
}
"""Stem of an entry point, or kind of reference code, to what builds it."""


class FirmwareOperator(NamedTuple):
    """How an operator between quantized tensors is read."""

    forms: tuple[str, ...]
    """Forms that the layer may take, by name."""
    limits: str = ""
    """What of it does not run, for the documentation."""


OPERATORS: dict[tuple[str, str], FirmwareOperator] = {
    ("", "Conv"): FirmwareOperator(("convolve", "depthwise"), "three dimensions; weights with a zero-point"),
    ("", "ConvTranspose"): FirmwareOperator(("transpose_conv",), "groups, dilations"),
    ("", "Gemm"): FirmwareOperator(
        ("fully_connected",), "transA; an alpha of 0 or below; a C that is no bias; a product of two activations"
    ),
    ("", "MatMul"): FirmwareOperator(("fully_connected",), "a product of two activations"),
    ("", "AveragePool"): FirmwareOperator(("avgpool",), "dilations; counted padding where sizes are rounded up"),
    ("", "GlobalAveragePool"): FirmwareOperator(("avgpool",)),
    ("", "MaxPool"): FirmwareOperator(("max_pool",), "dilations; a second output"),
    ("", "GlobalMaxPool"): FirmwareOperator(("max_pool",)),
    ("", "Add"): FirmwareOperator(("add", "lookup"), "a float constant of several values"),
    ("", "Sum"): FirmwareOperator(("add", "lookup"), "more than two operands; a float constant of several values"),
    ("", "Mul"): FirmwareOperator(("mul", "lookup"), "a float constant of several values"),
    ("", "Sub"): FirmwareOperator(("lookup",), "all but a single constant as one operand"),
    ("", "Div"): FirmwareOperator(("lookup",), "all but a single constant as one operand"),
    ("", "Max"): FirmwareOperator(("maximum",), "one operand or more than two; more than four axes"),
    ("", "Min"): FirmwareOperator(("minimum",), "one operand or more than two; more than four axes"),
    ("", "Softmax"): FirmwareOperator(
        ("softmax",), "an int16 output of another scale than CMSIS-NN's: 1/32768, behind an int8 input 1/65536"
    ),
    ("", "Concat"): FirmwareOperator(("concat",)),
    ("", "Pad"): FirmwareOperator(("pad",), "modes other than constant; more than four axes; negative amounts"),
    ("", "Relu"): FirmwareOperator(("requantize",)),
    ("", "Clip"): FirmwareOperator(("requantize",), "computed bounds"),
    ("", "Slice"): FirmwareOperator(("move",), "computed bounds"),
    ("", "Resize"): FirmwareOperator(("move",), "interpolation; factors that are not whole"),
    ("", "Upsample"): FirmwareOperator(("move",), "interpolation; factors that are not whole"),
    **{name: FirmwareOperator(("lookup",)) for name in CURVES},
}
"""Operators that layers are made of; whether one of a model is, its verdict says."""
