"""Operators that compute each element from the one element at its place."""

from __future__ import annotations

import math

import numpy as np

from onnxlint_cmsis.model.intervals import finite
from onnxlint_cmsis.operators import curve_values as of
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.curve_functions import (
    celu,
    elu,
    erf,
    gelu,
    hard_sigmoid,
    hard_swish,
    mish,
    plain,
    selu,
    shrink,
    sigmoid_gate,
    softplus,
    softsign,
    thresholded,
)
from onnxlint_cmsis.operators.curve_values import Curve, CurveValues, gated, shrunk, truth, waving
from onnxlint_cmsis.operators.demands import elementwise_demand
from onnxlint_cmsis.operators.elementwise_ties import unary
from onnxlint_cmsis.operators.folds import fold_cast, fold_identity
from onnxlint_cmsis.operators.joined_values import cast_values, clip_values, same_values
from onnxlint_cmsis.operators.new_lane import AS_READ, ZEROS, NewLane
from onnxlint_cmsis.operators.pair_values import loose_values
from onnxlint_cmsis.operators.record import OPAQUE, Operator, replace
from onnxlint_cmsis.operators.size_rules import same_sizes


def curve(name: str, shape: Curve, risk: Risk = Risk.NONE, *, zero: bool = False) -> Operator:
    """Record of a function of one variable; `zero` says that it is 0 at 0 for any parameters."""
    return replace(at_its_place(name, risk, zero=zero), values=CurveValues(shape))


def at_its_place(name: str, risk: Risk = Risk.NONE, *, zero: bool = False) -> Operator:
    """Record of an operator that looks at one element at a time."""
    zeros = (0,) if zero else ()
    operator = Operator(name, unary, Elements.COMPUTED, risk, Layout.EITHER, new_lane=ZEROS, zero=zeros)
    return replace(operator, values=OPAQUE, demand=elementwise_demand)


ONE = NewLane(ones=(0,))
"""A new constant element is 1, since the function is not finite at 0."""

IDENTITY = replace(
    at_its_place("Identity", zero=True),
    elements=Elements.SAME,
    new_lane=AS_READ,
    sizes=same_sizes,
    values=same_values,
    fold=fold_identity,
)
DROPOUT = replace(at_its_place("Dropout", zero=True), elements=Elements.SAME, new_lane=AS_READ, values=loose_values)
CAST_LIKE = replace(
    at_its_place("CastLike", Risk.SHORT_TYPE, zero=True),
    elements=Elements.CAST,
    new_lane=AS_READ,
    values=cast_values,
)
CAST = replace(
    at_its_place("Cast", Risk.SHORT_TYPE, zero=True),
    elements=Elements.CAST,
    new_lane=AS_READ,
    sizes=same_sizes,
    values=cast_values,
    fold=fold_cast,
)
LEAKY_RELU = curve("LeakyRelu", of.LEAKY_RELU, zero=True)
RELU = replace(curve("Relu", of.RELU, zero=True), elements=Elements.SELECTED, slope=1.0)
SIGMOID = replace(curve("Sigmoid", of.SIGMOID), bounds=(0.0, 1.0), slope=0.25)
GELU = curve("Gelu", Curve(gelu, (-0.7517916, -0.7524614), 8), zero=True)
CLIP = replace(at_its_place("Clip", Risk.LARGE_OPERAND), values=clip_values, slope=1.0)

CURVES = (
    *(IDENTITY, DROPOUT, CAST, CAST_LIKE, LEAKY_RELU, RELU, SIGMOID, GELU, CLIP),
    replace(curve("Abs", Curve(plain(np.abs), (0.0,), 0), zero=True), slope=1.0),
    curve("Acos", Curve(plain(np.arccos), domain=(-1.0, 1.0)), Risk.ALWAYS),
    replace(curve("Acosh", Curve(plain(np.arccosh), domain=(1.0, math.inf)), Risk.ALWAYS), new_lane=ONE),
    curve("Asin", Curve(plain(np.arcsin), domain=(-1.0, 1.0)), Risk.ALWAYS, zero=True),
    curve("Asinh", Curve(plain(np.arcsinh)), zero=True),
    curve("Atan", Curve(plain(np.arctan)), zero=True),
    curve("Atanh", Curve(plain(np.arctanh), domain=(-1.0, 1.0), poles=(-1.0, 1.0)), Risk.ALWAYS, zero=True),
    at_its_place("BitwiseNot"),
    curve("Ceil", Curve(plain(np.ceil), rounds=0, jumps=True), zero=True),
    curve("Celu", Curve(celu, (0.0,)), zero=True),
    curve("Cos", Curve(plain(np.cos), ends=waving)),
    curve("Cosh", Curve(plain(np.cosh), (0.0,), grows=True), Risk.ALWAYS),
    curve("Elu", Curve(elu, (0.0,)), zero=True),
    curve("Erf", Curve(erf), zero=True),
    curve("Exp", Curve(plain(np.exp), grows=True, least=0.0), Risk.ALWAYS),
    curve("Floor", Curve(plain(np.floor), rounds=0, jumps=True), zero=True),
    replace(curve("HardSigmoid", Curve(hard_sigmoid, least=0.0)), bounds=(0.0, 1.0)),
    replace(curve("HardSwish", Curve(hard_swish, (-3.0, -1.5)), zero=True), slope=1.5),
    curve("IsInf", truth(lambda x: x * 0)),
    curve("IsNaN", truth(lambda x: x * 0)),
    replace(curve("Log", of.LOG, Risk.ALWAYS), new_lane=ONE),
    curve("Mish", Curve(mish, ends=gated), zero=True),
    replace(curve("Neg", Curve(plain(np.negative), rounds=0), zero=True), slope=1.0),
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
    replace(curve("Tanh", of.TANH, zero=True), slope=1.0),
    curve("ThresholdedRelu", Curve(thresholded, rounds=0, jumps=True, ends=gated), zero=True),
)
