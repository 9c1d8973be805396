"""TensorFlow Lite's operators that compute each element from the one element at its place.

Kernels of int8 and int16 look values up or compute in fixed-point numbers; `error` is how far they may be from the
real function, in steps of the result (tensorflow/lite/kernels/internal/reference/integer_ops).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onnxlint_cmsis.graph.model import TFLITE, Node
from onnxlint_cmsis.operators import curve_operators as onnx
from onnxlint_cmsis.operators.facets import Elements, NotFollowed
from onnxlint_cmsis.operators.new_lane import ZEROS
from onnxlint_cmsis.operators.record import COMPUTES, NO_SHAPE_ARITHMETIC, OPAQUE, Operator, alias
from onnxlint_cmsis.operators.ties.elementwise_ties import unary
from onnxlint_cmsis.operators.ties.size_ties import same_sizes
from onnxlint_cmsis.operators.values.demands import elementwise_demand
from onnxlint_cmsis.operators.values.joins import cast_values, clip_values, same_values
from onnxlint_cmsis.operators.values.stored_scales import called, through_scales
from onnxlint_cmsis.operators.values.value_view import ValueRule, ValueView

FIXED_POINT = 1.0
"""Error of kernels in fixed-point numbers."""
TWICE = 0.5
"""Error of two roundings of one product, whatever its factor: below 0 that of LEAKY_RELU has the slope in it."""
ONNX_CURVES: Mapping[str, Operator] = {record.name: record for record in onnx.CURVES}


def _curve(name: str, of: str, *, error: float = 0.0, rescales: bool = False, **attributes: str) -> Operator:
    """A function that ONNX has too."""
    made = replace(alias(name, TFLITE, ONNX_CURVES[of]), sizes=COMPUTES, fold=NO_SHAPE_ARITHMETIC, bounds=None)
    if callable(made.values):
        like = called(of, **attributes)
        made = replace(made, values=through_scales(made.values, like, error=error, rescales=rescales))
    return replace(made, elements=Elements.COMPUTED)


def _own(name: str, values: ValueRule | NotFollowed = OPAQUE, *, zero: bool = True) -> Operator:
    """A function that ONNX does not have."""
    made = replace(onnx.IDENTITY, name=name, domain=TFLITE, sizes=COMPUTES, fold=NO_SHAPE_ARITHMETIC, values=values)
    made = replace(made, axes=unary, elements=Elements.COMPUTED, new_lane=ZEROS)
    return replace(made, zero=(0,) if zero else (), demand=elementwise_demand)


def _between(low: float, high: float) -> ValueRule:
    """Numbers limited to a range."""

    def like(node: Node, _view: ValueView) -> Node:
        return replace(node, op_type="Clip", domain="", inputs=node.inputs[:1], attributes={"min": low, "max": high})

    return through_scales(clip_values, like, rescales=True)


TFLITE_CURVES = (
    _curve("ABS", "Abs", rescales=True),
    _curve("CEIL", "Ceil"),
    _curve("COS", "Cos"),
    _curve("ELU", "Elu", error=FIXED_POINT),
    _curve("EXP", "Exp", error=FIXED_POINT),
    _curve("FLOOR", "Floor"),
    _curve("GELU", "Gelu", error=FIXED_POINT),
    _curve("HARD_SWISH", "HardSwish", error=FIXED_POINT),
    _curve("LEAKY_RELU", "LeakyRelu", error=TWICE, alpha="alpha"),
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
    replace(_curve("RSQRT", "Reciprocal"), values=OPAQUE),
    _own("RELU6", _between(0.0, 6.0)),
    _own("RELU_N1_TO_1", _between(-1.0, 1.0)),
    _own("RELU_0_TO_1", _between(0.0, 1.0)),
    _own("SQUARE"),
    _own("ZEROS_LIKE", zero=True),
    _own("QUANTIZE", through_scales(same_values, rescales=True)),
    _own("DEQUANTIZE", through_scales(same_values)),
    _own("FAKE_QUANT"),
    replace(_own("CAST", cast_values), sizes=same_sizes),
)
