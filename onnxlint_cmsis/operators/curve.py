"""Operators that compute each element from the one element at its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.model.intervals import finite
from onnxlint_cmsis.operators import arithmetic as of
from onnxlint_cmsis.operators.arithmetic import (
    Curve,
    CurveValues,
    called,
    cast_values,
    celu,
    clip_values,
    elementwise_demand,
    elu,
    erf,
    gated,
    gelu,
    hard_sigmoid,
    hard_swish,
    loose_values,
    mish,
    plain,
    same_values,
    selu,
    shrink,
    shrunk,
    sigmoid_gate,
    softplus,
    softsign,
    thresholded,
    through_scales,
    truth,
    waving,
)
from onnxlint_cmsis.operators.common_ties import same_sizes, unary
from onnxlint_cmsis.operators.record import (
    AS_READ,
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
    ValueRule,
    ValueView,
    alias,
    fold_cast,
    fold_identity,
)


def curve(name: str, shape: Curve, risk: Risk = Risk.NONE, *, zero: bool = False) -> Operator:
    """Record of a function of one variable; `zero` where it is 0 at 0, whatever its parameters are."""
    return replace(_at_its_place(name, risk, zero=zero), values=CurveValues(shape))


def _at_its_place(name: str, risk: Risk = Risk.NONE, *, zero: bool = False) -> Operator:
    """Record of another operator that looks at one element at a time."""
    zeros = (0,) if zero else ()
    made = Operator(name, unary, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS, zero=zeros)
    return replace(made, values=OPAQUE, demand=elementwise_demand)


ONE = NewLane(ones=(0,))
"""A new constant element is 1, since the function is not finite at 0."""

IDENTITY = replace(
    _at_its_place("Identity", zero=True),
    elements=Elements.SAME,
    new_lane=AS_READ,
    sizes=same_sizes,
    values=same_values,
    fold=fold_identity,
)
DROPOUT = replace(_at_its_place("Dropout", zero=True), elements=Elements.SAME, new_lane=AS_READ, values=loose_values)
CAST_LIKE = replace(
    _at_its_place("CastLike", Risk.SHORT_TYPE, zero=True),
    elements=Elements.CAST,
    new_lane=AS_READ,
    values=cast_values,
)
CAST = replace(
    _at_its_place("Cast", Risk.SHORT_TYPE, zero=True),
    elements=Elements.CAST,
    new_lane=AS_READ,
    sizes=same_sizes,
    values=cast_values,
    fold=fold_cast,
)
LEAKY_RELU = curve("LeakyRelu", of.LEAKY_RELU, zero=True)
RELU = replace(curve("Relu", of.RELU, zero=True), elements=Elements.SELECTED)
SIGMOID = replace(curve("Sigmoid", of.SIGMOID), bounds=(0.0, 1.0))
GELU = curve("Gelu", Curve(gelu, (-0.7517916, -0.7524614), 8), zero=True)
CLIP = replace(_at_its_place("Clip", Risk.LARGE_OPERAND), values=clip_values)

CURVES = (
    *(IDENTITY, DROPOUT, CAST, CAST_LIKE, LEAKY_RELU, RELU, SIGMOID, GELU, CLIP),
    curve("Abs", Curve(plain(np.abs), (0.0,), 0), zero=True),
    curve("Acos", Curve(plain(np.arccos), domain=(-1.0, 1.0)), Risk.ALWAYS),
    replace(curve("Acosh", Curve(plain(np.arccosh), domain=(1.0, math.inf)), Risk.ALWAYS), new_lane=ONE),
    curve("Asin", Curve(plain(np.arcsin), domain=(-1.0, 1.0)), Risk.ALWAYS, zero=True),
    curve("Asinh", Curve(plain(np.arcsinh)), zero=True),
    curve("Atan", Curve(plain(np.arctan)), zero=True),
    curve("Atanh", Curve(plain(np.arctanh), domain=(-1.0, 1.0), poles=(-1.0, 1.0)), Risk.ALWAYS, zero=True),
    _at_its_place("BitwiseNot"),
    curve("Ceil", Curve(plain(np.ceil), rounds=0, jumps=True), zero=True),
    curve("Celu", Curve(celu, (0.0,)), zero=True),
    curve("Cos", Curve(plain(np.cos), ends=waving)),
    curve("Cosh", Curve(plain(np.cosh), (0.0,), grows=True), Risk.ALWAYS),
    curve("Elu", Curve(elu, (0.0,)), zero=True),
    curve("Erf", Curve(erf), zero=True),
    curve("Exp", Curve(plain(np.exp), grows=True, least=0.0), Risk.ALWAYS),
    curve("Floor", Curve(plain(np.floor), rounds=0, jumps=True), zero=True),
    replace(curve("HardSigmoid", Curve(hard_sigmoid, least=0.0)), bounds=(0.0, 1.0)),
    curve("HardSwish", Curve(hard_swish, (-3.0, -1.5)), zero=True),
    curve("IsInf", truth(lambda x: x * 0)),
    curve("IsNaN", truth(lambda x: x * 0)),
    replace(curve("Log", of.LOG, Risk.ALWAYS), new_lane=ONE),
    curve("Mish", Curve(mish, ends=gated), zero=True),
    curve("Neg", Curve(plain(np.negative), rounds=0), zero=True),
    curve("Not", truth(lambda x: 1 - x)),
    replace(curve("Reciprocal", Curve(plain(lambda x: 1 / x), poles=(0.0,)), Risk.ALWAYS), new_lane=ONE),
    curve("Round", Curve(plain(np.rint), rounds=0, jumps=True), zero=True),
    curve("Selu", Curve(selu, (0.0,)), zero=True),
    curve("Shrink", Curve(shrink, ends=shrunk)),
    curve("Sign", Curve(plain(np.sign), rounds=0, jumps=True), zero=True),
    curve("Sin", Curve(plain(np.sin), ends=waving), zero=True),
    curve("Sinh", Curve(plain(np.sinh), grows=True), Risk.ALWAYS, zero=True),
    curve("Softplus", Curve(softplus, least=0.0)),
    curve("Softsign", Curve(softsign), zero=True),
    curve("Sqrt", of.SQRT, Risk.ALWAYS, zero=True),
    curve("Swish", Curve(sigmoid_gate(1.0), ends=gated), zero=True),
    curve("Tan", Curve(plain(np.tan), ends=lambda x, _node: finite(x)), zero=True),
    curve("Tanh", of.TANH, zero=True),
    curve("ThresholdedRelu", Curve(thresholded, rounds=0, jumps=True, ends=gated), zero=True),
)


# TensorFlow Lite's operators that compute each element from the one element at its place.
#
# Kernels of int8 and int16 look values up or compute in fixed-point numbers; `error` is how far they may be from the
# real function, in steps of the result (tensorflow/lite/kernels/internal/reference/integer_ops).


FIXED_POINT = 1.0
"""Error of kernels in fixed-point numbers."""
TWICE = 0.5
"""Error of two roundings of one product, whatever its factor: below 0 that of LEAKY_RELU has the slope in it."""
ONNX_CURVES: Mapping[str, Operator] = {record.name: record for record in CURVES}


def _curve(name: str, of: str, *, error: float = 0.0, rescales: bool = False, **attributes: str) -> Operator:
    """A function that ONNX has too."""
    made = replace(alias(name, TFLITE, ONNX_CURVES[of]), sizes=COMPUTES, fold=NO_SHAPE_ARITHMETIC, bounds=None)
    if callable(made.values):
        like = called(of, **attributes)
        made = replace(made, values=through_scales(made.values, like, error=error, rescales=rescales))
    return replace(made, elements=Elements.COMPUTED)


def _own(name: str, values: ValueRule | NotFollowed = OPAQUE, *, zero: bool = True) -> Operator:
    """A function that ONNX does not have."""
    made = replace(IDENTITY, name=name, domain=TFLITE, sizes=COMPUTES, fold=NO_SHAPE_ARITHMETIC, values=values)
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
