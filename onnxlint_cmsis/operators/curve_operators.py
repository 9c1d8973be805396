"""Operators that compute each element from the one element at its place."""

from __future__ import annotations

from dataclasses import replace

from onnxlint_cmsis.operators.facets import Elements, Layout, Risk
from onnxlint_cmsis.operators.integer_folds import fold_cast, fold_identity
from onnxlint_cmsis.operators.record import OPAQUE, Operator
from onnxlint_cmsis.operators.roles import Roles
from onnxlint_cmsis.operators.ties.elementwise_ties import unary
from onnxlint_cmsis.operators.ties.size_ties import same_sizes
from onnxlint_cmsis.operators.values import curves as values_of
from onnxlint_cmsis.operators.values.broadcasts import loose_values
from onnxlint_cmsis.operators.values.curves import curve_values
from onnxlint_cmsis.operators.values.demands import elementwise_demand
from onnxlint_cmsis.operators.values.joins import cast_values, clip_values, same_values


def curve(name: str, risk: Risk = Risk.NONE, *, zero: bool = False) -> Operator:
    """Record of a function of one variable; `zero` where it is 0 at 0, whatever its parameters are."""
    made = Operator(name, unary, Elements.COMPUTED, risk, Layout.EITHER, zero=(0,) if zero else ())
    values = curve_values if name in values_of.CURVES else OPAQUE
    return replace(made, values=values, demand=elementwise_demand)


ONE = Roles(ones=(0,))
"""A new constant element is 1, since the function is not finite at 0."""

IDENTITY = replace(
    curve("Identity", zero=True), elements=Elements.SAME, sizes=same_sizes, values=same_values, fold=fold_identity
)
DROPOUT = replace(curve("Dropout", zero=True), elements=Elements.SAME, values=loose_values)
CAST_LIKE = replace(curve("CastLike", Risk.SHORT_TYPE, zero=True), elements=Elements.CAST, values=cast_values)
CAST = replace(
    curve("Cast", Risk.SHORT_TYPE, zero=True),
    elements=Elements.CAST,
    sizes=same_sizes,
    values=cast_values,
    fold=fold_cast,
)
LEAKY_RELU = curve("LeakyRelu", zero=True)
RELU = replace(curve("Relu", zero=True), elements=Elements.SELECTED)
SIGMOID = replace(curve("Sigmoid"), bounds=(0.0, 1.0))
GELU = curve("Gelu", zero=True)
CLIP = replace(curve("Clip", Risk.LARGE_OPERAND), values=clip_values)

CURVES = (
    *(IDENTITY, DROPOUT, CAST, CAST_LIKE, LEAKY_RELU, RELU, SIGMOID, GELU, CLIP),
    curve("Abs", zero=True),
    curve("Acos", Risk.ALWAYS),
    replace(curve("Acosh", Risk.ALWAYS), roles=ONE),
    curve("Asin", Risk.ALWAYS, zero=True),
    curve("Asinh", zero=True),
    curve("Atan", zero=True),
    curve("Atanh", Risk.ALWAYS, zero=True),
    curve("BitwiseNot"),
    curve("Ceil", zero=True),
    curve("Celu", zero=True),
    curve("Cos"),
    curve("Cosh", Risk.ALWAYS),
    curve("Elu", zero=True),
    curve("Erf", zero=True),
    curve("Exp", Risk.ALWAYS),
    curve("Floor", zero=True),
    replace(curve("HardSigmoid"), bounds=(0.0, 1.0)),
    curve("HardSwish", zero=True),
    curve("IsInf"),
    curve("IsNaN"),
    replace(curve("Log", Risk.ALWAYS), roles=ONE),
    curve("Mish", zero=True),
    curve("Neg", zero=True),
    curve("Not"),
    replace(curve("Reciprocal", Risk.ALWAYS), roles=ONE),
    curve("Round", zero=True),
    curve("Selu", zero=True),
    curve("Shrink"),
    curve("Sign", zero=True),
    curve("Sin", zero=True),
    curve("Sinh", Risk.ALWAYS, zero=True),
    curve("Softplus"),
    curve("Softsign", zero=True),
    curve("Sqrt", Risk.ALWAYS, zero=True),
    curve("Swish", zero=True),
    curve("Tan", zero=True),
    curve("Tanh", zero=True),
    curve("ThresholdedRelu", zero=True),
)
