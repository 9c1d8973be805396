"""Values of results from values of operands: functions, pairs, planes, joins, scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.graph import padded
from onnxlint_cmsis.model.intervals import (
    MAX_CELLS,
    SLACK,
    Fault,
    Interval,
    anywhere,
    between,
    either,
    exactly,
    finite,
    fits,
    hull,
    interval_of,
    is_whole,
    lay,
    level,
    limits,
    point,
    ranked,
    reduced,
    regrouped,
    within,
)
from onnxlint_cmsis.operators.record import LayerSum, ValueRule, ValueView, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node, StoredQuantization
    from onnxlint_cmsis.model.intervals import Floats, Mask
    from onnxlint_cmsis.model.roles import Roles


# Real functions of one variable as ONNX defines them; the node has the parameters.


Real = Callable[["Floats", "Node"], "Floats"]
"""Values of a function at many numbers."""


def times(factor: float, x: Floats) -> Floats:
    """A product in which 0 times infinity is 0."""
    return np.where(factor == 0, 0.0, factor * x)


def leaky_relu(x: Floats, node: Node) -> Floats:
    """The input above 0, times a slope below."""
    return np.where(x < 0, times(real_attribute(node, "alpha", 0.01), x), x)


def elu(x: Floats, node: Node) -> Floats:
    """Elu: exponential below 0."""
    return np.where(x < 0, times(real_attribute(node, "alpha", 1.0), np.expm1(np.minimum(x, 0))), x)


def celu(x: Floats, node: Node) -> Floats:
    """Celu: exponential below 0, NaN where alpha is not positive."""
    alpha = real_attribute(node, "alpha", 1.0)
    below = alpha * np.expm1(np.minimum(x, 0) / alpha) if alpha > 0 else np.full(x.shape, np.nan)
    return np.where(x < 0, below, x)


def selu(x: Floats, node: Node) -> Floats:
    """Selu: scaled exponential below 0."""
    alpha, gamma = real_attribute(node, "alpha", 1.6732632423543772), real_attribute(node, "gamma", 1.0507009873554805)
    return np.where(x < 0, gamma * alpha * np.expm1(np.minimum(x, 0)), times(gamma, x))


def hard_sigmoid(x: Floats, node: Node) -> Floats:
    """A line between 0 and 1."""
    alpha, beta = real_attribute(node, "alpha", 0.2), real_attribute(node, "beta", 0.5)
    return np.minimum(np.maximum(times(alpha, x) + beta, 0), 1)


def hard_swish(x: Floats, _node: Node) -> Floats:
    """The input times a line between 0 and 1."""
    return np.where(np.isneginf(x), 0, x * np.clip(x / 6 + 0.5, 0, 1))


def erf(x: Floats, _node: Node) -> Floats:
    """Error function."""
    return np.array([math.erf(value) for value in x.flat]).reshape(x.shape)


def gelu(x: Floats, node: Node) -> Floats:
    """Gelu, exact or by a hyperbolic tangent."""
    if node.text("approximate", "none") == "tanh":
        return fast_gelu(x, node)
    return np.where(np.isneginf(x), 0, 0.5 * x * (1 + erf(x / math.sqrt(2), node)))


def fast_gelu(x: Floats, _node: Node) -> Floats:
    """Gelu by a hyperbolic tangent."""
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return np.where(np.isneginf(x), 0, 0.5 * x * (1 + bend))


def sigmoid(x: Floats, _node: Node) -> Floats:
    """Logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


def softplus(x: Floats, _node: Node) -> Floats:
    """Logarithm of 1 plus the exponential."""
    return np.asarray(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0))


def softsign(x: Floats, _node: Node) -> Floats:
    """The input by 1 plus its size."""
    return np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))


def sigmoid_gate(slope: float) -> Real:
    """The input times the logistic function of it."""
    return lambda x, node: np.where(np.isneginf(x), 0, x * sigmoid(real_attribute(node, "alpha", slope) * x, node))


def mish(x: Floats, node: Node) -> Floats:
    """The input times the hyperbolic tangent of its softplus."""
    return np.where(np.isneginf(x), 0, x * np.tanh(softplus(x, node)))


def thresholded(x: Floats, node: Node) -> Floats:
    """The input above a threshold, else 0."""
    return np.where(x > real_attribute(node, "alpha", 1.0), x, x * 0)


def shrink(x: Floats, node: Node) -> Floats:
    """The input moved towards 0."""
    bias, limit = real_attribute(node, "bias", 0.0), real_attribute(node, "lambd", 0.5)
    return np.where(x > limit, x - bias, np.where(x < -limit, x + bias, x * 0))


def plain(function: Callable[[Floats], Floats]) -> Real:
    """A function without parameters."""
    return lambda x, _node: np.asarray(function(x))


# Functions of one variable on intervals, with the numbers where they are defined.


Ends = Callable[[Interval, "Node"], Interval]


class Curve(NamedTuple):
    """A function of one variable that is monotone between its turns."""

    value: Real
    """The function; its node has the parameters."""
    turns: tuple[float, ...] = ()
    """Numbers between which it is monotone; none where it is monotone everywhere."""
    rounds: float = 4.0
    """Relative and absolute error that an implementation may have, in units of the type's; 0 for exact functions."""
    domain: tuple[float, float] = (-math.inf, math.inf)
    """Numbers for which it is defined."""
    poles: tuple[float, ...] = ()
    """Numbers where it is infinite."""
    grows: bool = False
    """Whether it grows so fast that numbers of unknown size may become infinite."""
    least: float = -math.inf
    """Number that no rounding takes it below."""
    jumps: bool = False
    """Whether numbers next to each other may come out far apart."""
    ends: Ends | None = None
    """Interval of several numbers, for functions with other turns."""


def bent(x: Interval, curve: Curve, node: Node, rounding: float) -> Interval:
    """A function of one variable on an interval, as computed."""
    with_ends = _ends(x, curve, node)
    result = _checked(x, with_ends, curve)
    if curve.jumps:
        return result.unsettled(~result.exact)
    if not curve.rounds or not rounding:
        return result
    margins = [np.where(x.zero & result.zero, 0, curve.rounds * rounding * (1 + np.abs(end))) for end in result[:2]]
    margins = [np.where(np.isfinite(margin), margin, 0) for margin in margins]
    result = result.widened(*margins)
    return result._replace(low=np.maximum(result.low, curve.least)) if curve.least > -math.inf else result


def _ends(x: Interval, curve: Curve, node: Node) -> Interval:
    if x.low is x.high:
        value = curve.value(x.low, node)
        return interval_of(value, value, x)
    points = [x.low, x.high, *(np.clip(turn, x.low, x.high) for turn in curve.turns)]
    values = [curve.value(point, node) for point in points]
    result = interval_of(np.minimum.reduce(values), np.maximum.reduce(values), x)
    return result if curve.ends is None else either(x.exact, result, curve.ends(x, node))


def _checked(x: Interval, result: Interval, curve: Curve) -> Interval:
    """The result, with elements outside the domain and at poles marked, and those that are too large."""
    low, high = curve.domain
    outside = (x.low < low) | (x.high > high)
    if ((x.high < low) | (x.low > high)).all():
        return result.flawed(outside, Fault("is NaN"))
    pole = np.zeros(outside.shape, bool)
    for number in curve.poles:
        pole = pole | x.holds(number)
    if (pole & x.exact).all():
        return result.flawed(pole, Fault("is infinite"))
    if outside.any() or pole.any():
        words = [word for word, given in (("NaN", outside), ("infinite", pole)) if given.any()]
        return result.flawed(outside | pole, Fault(f"may be {' or '.join(words)}"))
    if curve.grows:
        large = ~result.bounded & ~np.isnan(x.low)
        return result.flawed(large, Fault("is infinite" if x.exact.all() else "may be infinite"))
    return result.flawed(np.isnan(result.low) & ~np.isnan(x.low), Fault("may be NaN or infinite"))


def gated(x: Interval, _node: Node) -> Interval:
    """The input times something from 0 to 1."""
    return interval_of(np.minimum(x.low, 0), np.maximum(x.high, 0), x)


def waving(x: Interval, _node: Node) -> Interval:
    """Something from -1 to 1."""
    return within(x, -1.0, 1.0)


def shrunk(x: Interval, node: Node) -> Interval:
    """Numbers pulled towards 0 by the bias."""
    bias = abs(real_attribute(node, "bias", 0.0))
    return interval_of(np.minimum(x.low - bias, 0), np.maximum(x.high + bias, 0), x)


def truth(function: Callable[[Floats], Floats]) -> Curve:
    """A truth value of what is finite."""
    return Curve(plain(function), rounds=0, ends=lambda x, _node: within(x, 0.0, 1.0))


FAST_GELU = Curve(fast_gelu, ends=gated)
"""Gelu by a hyperbolic tangent."""
RELU = Curve(lambda x, _node: np.maximum(x, 0), rounds=0)
SIGMOID = Curve(sigmoid, least=0.0)
TANH = Curve(plain(np.tanh))
LOG = Curve(plain(np.log), domain=(0.0, math.inf), poles=(0.0,))
SQRT = Curve(plain(np.sqrt), domain=(0.0, math.inf), least=0.0)
LEAKY_RELU = Curve(leaky_relu, (0.0,))
QUICK_GELU = Curve(sigmoid_gate(1.702), ends=gated)
"""Gelu by a logistic function."""
PLAIN_ACTIVATIONS = {"Relu": RELU, "Sigmoid": SIGMOID, "Tanh": TANH}
"""Fused activations without parameters."""


@dataclass(frozen=True)
class CurveValues:
    """Transfer function of an operator that is a function of one variable."""

    curve: Curve
    """The function."""

    def __call__(self, node: Node, view: ValueView) -> Interval | None:
        """Values of the result."""
        x = view.input(node, 0)
        return None if x is None else bent(x, self.curve, node, view.rounding(node))


def activated(x: Interval, node: Node, rounding: float) -> Interval | None:
    """The activation that a fused layer names; None where it has parameters."""
    name = node.text("activation")
    if not name:
        return x
    return bent(x, PLAIN_ACTIVATIONS[name], node, rounding) if name in PLAIN_ACTIVATIONS else None


# Functions of two variables on intervals, with the numbers where they are defined.


Pair = Callable[[Interval, Interval, float], Interval]
"""Values of a function, given the relative rounding error."""


def add(left: Interval, right: Interval, rounding: float) -> Interval:
    """Sum; with 0, and where it is 0, it is exact."""
    result = _ordered(np.add, left, right)
    if not rounding:
        return result
    inexact = ~(left.zero | right.zero | result.zero)
    below, above = np.abs(left.low) + np.abs(right.low), np.abs(left.high) + np.abs(right.high)
    return result.widened(*(np.where(inexact & np.isfinite(size), rounding * size, 0) for size in (below, above)))


def _ordered(function: Callable[[Floats, Floats], Floats], left: Interval, right: Interval) -> Interval:
    """A function that falls in neither operand."""
    low, exact = function(left.low, right.low), left.low is left.high and right.low is right.high
    return interval_of(low, low if exact else function(left.high, right.high), left, right)


def negative(interval: Interval) -> Interval:
    """The interval with the other sign."""
    low = -interval.high
    return interval_of(low, low if interval.low is interval.high else -interval.low, interval)


def subtract(left: Interval, right: Interval, rounding: float) -> Interval:
    """Difference."""
    return add(left, negative(right), rounding)


def multiply(left: Interval, right: Interval, rounding: float) -> Interval:
    """Product; 0 times a finite number is 0, and times one of which nothing is known anything."""
    if left.low is left.high and right.low is right.high:
        low = left.low * right.low
        result = interval_of(low, low, left, right)
    else:
        products = [_times(end, factor) for end in left[:2] for factor in right[:2]]
        result = interval_of(np.minimum.reduce(products), np.maximum.reduce(products), left, right)
    return _unless_too_large(result.rounded(rounding), left, right)


def _times(left: Floats, right: Floats) -> Floats:
    zero = ((left == 0) & ~np.isnan(right)) | ((right == 0) & ~np.isnan(left))
    return np.where(zero, 0, left * right)


def _unless_too_large(result: Interval, *operands: Interval) -> Interval:
    large = ~result.bounded
    for operand in operands:
        large = large & operand.bounded
    return result.flawed(large, Fault("may be infinite"))


def divide(left: Interval, right: Interval, rounding: float) -> Interval:
    """Quotient of real numbers."""
    zero = right.holds(0)
    if not zero.any():
        return multiply(left, _inverse(right), rounding)
    if right.zero.all():
        outcome = "is NaN" if left.zero.all() else "may be NaN or infinite" if left.holds(0).any() else "is infinite"
    elif left.zero.all():
        outcome = "may be NaN"
    else:
        outcome = "may be NaN or infinite" if left.holds(0).any() else "may be infinite"
    quotient = multiply(left, _inverse(right.forgotten(zero)), rounding)
    return quotient.flawed(np.broadcast_to(zero, quotient.low.shape), Fault(outcome, right, divides=True))


def _inverse(right: Interval) -> Interval:
    low = 1 / right.high
    return interval_of(low, low if right.low is right.high else 1 / right.low, right)


def divide_whole(left: Interval, right: Interval, _rounding: float) -> Interval:
    """Quotient of integers, rounded towards 0."""
    largest = np.maximum(np.abs(left.low), np.abs(left.high)) + 0 * right.low
    return _defined(interval_of(-largest, largest, left, right), right)


def modulo(left: Interval, right: Interval, _rounding: float) -> Interval:
    """Remainder, smaller than the divisor."""
    largest = np.maximum(np.abs(right.low), np.abs(right.high)) + 0 * left.low
    return _defined(interval_of(-largest, largest, left, right), right)


def _defined(result: Interval, divisor: Interval) -> Interval:
    outcome = "is not defined" if divisor.zero.all() else "may not be defined"
    zero = np.broadcast_to(divisor.holds(0), result.low.shape)
    return result.flawed(zero, Fault(outcome, divisor, divides=True))


def power(base: Interval, exponent: Interval, rounding: float) -> Interval:
    """Base to a power; to one whole power of 0 or more from any base, else from bases of 0 or more."""
    base, exponent = _broadcast(base, exponent), _broadcast(exponent, base)
    ends = [np.power(end, to) for end in base[:2] for to in exponent[:2]]
    ends.append(np.where((base.low < 0) & (base.high > 0), np.power(0.0, exponent.low), ends[0]))
    ends.append(np.where(exponent.exact, ends[0], 1.0))
    result = interval_of(np.minimum.reduce(ends), np.maximum.reduce(ends), base, exponent).rounded(rounding)
    whole = exponent.exact & (exponent.low == np.floor(exponent.low))
    undefined = (base.low < 0) & ~whole
    certain = ((base.high < 0) & exponent.exact).all()
    result = result.flawed(undefined, Fault("is NaN" if certain else "may be NaN"))
    pole = (exponent.low < 0) & base.holds(0)
    certain = (base.zero & (exponent.high < 0)).all()
    result = result.flawed(pole, Fault("is infinite" if certain else "may be infinite"))
    endless = ~exponent.exact & ~(exponent.bounded & base.bounded) & ~np.isnan(base.low + exponent.low)
    return _unless_too_large(result.flawed(endless, Fault("may be infinite")), base, exponent)


def _broadcast(interval: Interval, other: Interval) -> Interval:
    shape = np.broadcast_shapes(interval.low.shape, other.low.shape)
    return interval.moved(lambda array: np.broadcast_to(array, shape))


def maximum(left: Interval, right: Interval, _rounding: float) -> Interval:
    """The larger one."""
    return _ordered(np.maximum, left, right)


def minimum(left: Interval, right: Interval, _rounding: float) -> Interval:
    """The smaller one."""
    return _ordered(np.minimum, left, right)


def prelu(left: Interval, slope: Interval, rounding: float) -> Interval:
    """Times the slope below 0."""
    zero = point(0.0)
    below, above = multiply(minimum(left, zero, 0.0), slope, rounding), maximum(left, zero, 0.0)
    mixed = either(np.asarray(left.high < 0), below, hull(below, above))
    return either(np.asarray(left.low >= 0), left, mixed)


PAIRS: dict[str, Pair] = {
    "Add": add,
    "Div": divide,
    "Max": maximum,
    "Mean": add,
    "Min": minimum,
    "Mod": modulo,
    "Mul": multiply,
    "PRelu": prelu,
    "Pow": power,
    "Sub": subtract,
    "Sum": add,
}
"""Functions of two variables, or of any number taken two by two; the total of a mean."""


# Intervals through operators with several operands that are broadcast.


def pair_values(pair: Pair) -> ValueRule:
    """A function of two variables, or of any number taken two by two, with broadcasting."""
    return lambda node, view: _pairs(node, view, pair)


def _pairs(node: Node, view: ValueView, pair: Pair) -> Interval | None:
    operands = [view.input(node, position) for position in range(len(node.inputs)) if node.has(position)]
    known = [operand for operand in operands if operand is not None]
    rounding = view.rounding(node)
    if "broadcast" in node.attributes or len(known) < len(operands) or not known or not _fit(*known):
        return None
    return reduce(lambda left, right: pair(left, right, rounding), known)


def _fit(*operands: Interval) -> bool:
    return fits(*(operand.low.shape for operand in operands))


def mean_values(node: Node, view: ValueView) -> Interval | None:
    """Mean of any number of operands."""
    total, count = _pairs(node, view, add), sum(map(bool, node.inputs))
    return None if total is None else share(total, count, view.rounding(node))


def share(total: Interval, count: int, rounding: float) -> Interval:
    """Mean of so many numbers with a sum."""
    return multiply(total, point(1 / count), rounding)


def quotient_values(node: Node, view: ValueView) -> Interval | None:
    """A product with the inverses if all divisors are known: signs may differ though no divisor is 0."""
    rounding, left = view.rounding(node), view.input(node, 0)
    inverse = view.inverse(node, 1) if rounding else None
    if inverse is None or left is None:
        return _pairs(node, view, divide if rounding else divide_whole)
    return multiply(left, inverse, rounding)


def choice_values(node: Node, view: ValueView) -> Interval | None:
    """One of two inputs, whatever the condition."""
    left, right = view.input(node, 1), view.input(node, 2)
    condition = view.input_shape(node, 0)
    if left is None or right is None or condition is None or not _fit(left, right):
        return None
    return ranked(hull(left, right), len(condition))


def loose_values(node: Node, view: ValueView) -> Interval | None:
    """Any finite number of finite ones, but 0 of 0: what Dropout may make in training."""
    x = view.input(node, 0)
    if x is None or (not node.has(2) and node.opset >= 7):
        return x
    return either(x.zero, x, finite(x))


def biased_gelu(node: Node, view: ValueView) -> Interval | None:
    """Gelu of a sum with a bias."""
    x, rounding = view.input(node, 0), view.rounding(node)
    bias = view.input(node, 1) if node.has(1) else point(0.0)
    if x is None or bias is None or not _fit(x, bias):
        return None
    return bent(add(x, bias, rounding), FAST_GELU, node, rounding)


# Intervals to and from integers, and through operators that carry scales and zero-points themselves.


NEAR = 2.0**-10
"""How far, in steps of the result, an operator that works in integers may be from the real value before rounding."""


def parameter(node: Node, view: ValueView, position: int) -> Interval | None:
    """Scale or zero-point of a Q/DQ node along the axis it is for, 0 where it is omitted; None where not known."""
    if not node.has(position):
        return point(0.0)
    numbers, shape = view.input(node, position), view.input_shape(node, 0)
    rank = len(shape or ())
    axis = 0 if rank == 1 else node.int("axis", 1)
    if numbers is None or numbers.low.size == 1:
        return None if numbers is None else numbers.moved(lambda array: array.reshape((1,) * rank))
    if shape is None or numbers.low.ndim != 1 or not -rank <= axis < rank or shape[axis] != len(numbers.low):
        return None
    return lay(numbers, axis % rank, rank)


def dequantize_values(node: Node, view: ValueView) -> Interval | None:
    """(x - zero-point) * scale in float32."""
    steps, scale, zero = view.input(node, 0), parameter(node, view, 1), parameter(node, view, 2)
    if steps is None or scale is None or zero is None:
        return None
    offset = subtract(steps, zero, 0.0)
    real = _in_float32(np.multiply, offset, scale) or multiply(offset, scale, SLACK)
    return real if view.made_type(node) == "float32" else real.rounded(view.rounding(node))


def quantize_values(node: Node, view: ValueView) -> Interval | None:
    """Division by the scale in float32, rounded half to even, plus the zero-point, saturated."""
    x, scale, zero = view.input(node, 0), parameter(node, view, 1), parameter(node, view, 2)
    if x is None or scale is None or zero is None or node.int("precision") or not (scale.low > 0).all():
        return None
    steps = _in_float32(np.divide, x, scale) or divide(x, scale, SLACK)
    return in_steps(steps, zero, view.made_type(node))


def _in_float32(function: Callable[..., Floats], x: Interval, scale: Interval) -> Interval | None:
    """A product or quotient with exact scales, rounded as float32 is; None where the scales are not exact."""
    if scale.low is not scale.high or not (scale.low > 0).all():
        return None
    factor = scale.low.astype(np.float32)
    return x.bent(lambda end: function(end.astype(np.float32), factor).astype(np.float64))


def in_steps(steps: Interval, zero: Interval, elem_type: str) -> Interval | None:
    """Real numbers of steps as saturated integers, which differ where the ends round to different ones."""
    if "int" not in elem_type:
        return None
    least, most = limits(elem_type)
    whole = add(steps.bent(np.rint), zero, 0.0).bent(lambda x: np.clip(x, least, most))
    return whole.unsettled(~whole.exact)


def requantized(real: Interval, node: Node, view: ValueView) -> Interval | None:
    """A real number in the steps of the result's own scale and zero-point."""
    result = view.roles(node).result
    scale, zero = view.scalar(node, result.scale), view.scalar(node, result.zero_point, 0.0)
    if not scale.low > 0:
        if not real.zero.all():
            return None
        scale = point(1.0)
    steps = divide(real, scale, 0.0)
    steps = steps.widened(*(np.where(steps.zero, 0, NEAR + SLACK * _size(end)) for end in steps[:2]))
    return in_steps(steps, zero, view.made_type(node))


def _size(end: Floats) -> Floats:
    return np.where(np.isfinite(end), np.abs(end), 0)


def real_input(node: Node, view: ValueView, position: int) -> Interval | None:
    """An input with its scale and zero-point in the two places after it, as real numbers."""
    return real_steps(view.input(node, position), node, view, position)


def real_steps(steps: Interval | None, node: Node, view: ValueView, position: int) -> Interval | None:
    """Steps of the scale and zero-point in the two places after an input, as real numbers."""
    if steps is None:
        return None
    scale, zero = view.scalar(node, position + 1), view.scalar(node, position + 2, 0.0)
    return multiply(subtract(steps, zero, 0.0), scale, 0.0)


def quantized_pair(op_type: str) -> ValueRule:
    """A function of two quantized tensors."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        left, right = (real_input(node, view, position) for position in view.roles(node).data)
        if left is None or right is None or not fits(left.low.shape, right.low.shape):
            return None
        return requantized(PAIRS[op_type](left, right, SLACK).rounded(SLACK), node, view)

    return rule


def quantized_curve(curve: Curve) -> ValueRule:
    """A function of one quantized tensor."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        real = real_input(node, view, 0)
        if real is None:
            return None
        return requantized(bent(real, curve, node, SLACK).rounded(SLACK), node, view)

    return rule


def in_steps_of_result(node: Node, view: ValueView, position: int) -> bool:
    """Whether an input has the same scale and zero-point as the result."""
    result = view.roles(node).result
    for mine, theirs in ((position + 1, result.scale), (position + 2, result.zero_point)):
        left, right = view.scalar(node, mine, 0.0), view.scalar(node, theirs, 0.0)
        if not (left.exact and right.exact and left.low == right.low):
            return False
    return True


# Intervals through operators that take elements along axes together: pools, reductions, resizing, normalisation.


Summary = Callable[[Interval, "Node", float], Interval]
"""What any number of elements out of an interval give together, given the rounding of the result."""


def mean(x: Interval, _node: Node, rounding: float) -> Interval:
    """Mean of elements."""
    return x.rounded(4 * rounding)


def largest(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Greatest or least of elements."""
    return x


def total(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Sum of one element or more."""
    return interval_of(np.where(x.low < 0, -np.inf, x.low), np.where(x.high > 0, np.inf, x.high), x)


def log_total(x: Interval, node: Node, rounding: float) -> Interval:
    """Logarithm of a sum."""
    return bent(total(x, node, rounding), LOG, node, rounding)


def norm(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Sum of sizes or squares."""
    zero = np.where(np.isnan(x.low), np.nan, 0.0)
    return interval_of(zero, np.where(x.zero, 0.0, zero + np.inf), x)


def product(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Product of unknown length, which is finite where no factor is larger than 1."""
    kept = x.exact & ((x.low == 0) | (x.low == 1))
    low, high = np.where(x.low < 0, -1.0, 0.0), np.ones(x.low.shape)
    result = interval_of(np.where(kept, x.low, low), np.where(kept, x.low, high), x).forgotten(np.isnan(x.low))
    return result.flawed((x.low < -1) | (x.high > 1), Fault("may be infinite"))


def pooled(summary: Summary) -> ValueRule:
    """One number of every window of a plane."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        plane = _plane(node, view, view.input(node, 0))
        if plane is None or not _windows_hold_data(node):
            return None
        return _with_padding(summary(plane, node, view.rounding(node)), node)

    return rule


def quantized_pool(node: Node, view: ValueView) -> Interval | None:
    """Mean of the windows of a quantized plane."""
    plane = None if node.int("channels_last") else _plane(node, view, real_input(node, view, 0))
    if plane is None or not _windows_hold_data(node):
        return None
    return requantized(_with_padding(mean(plane, node, SLACK), node), node, view)


def _plane(node: Node, view: ValueView, x: Interval | None) -> Interval | None:
    """The one interval of each channel."""
    rank = len(view.input_shape(node, 0) or ())
    return None if x is None or rank < 3 else level(x, view.roles(node).plane(rank))


def _with_padding(result: Interval, node: Node) -> Interval:
    """The mean, which may include zeros of the padding."""
    counted = node.int("count_include_pad") and (padded(node) or node.int("ceil_mode"))
    return hull(result, point(0.0)) if counted else result


def _windows_hold_data(node: Node) -> bool:
    """Whether every window has an element that is no padding."""
    kernel = node.ints("kernel_shape")
    strides = node.ints("strides") or (1,) * len(kernel)
    if node.int("ceil_mode") and (padded(node) or any(s > k for s, k in zip(strides, kernel, strict=False))):
        return False
    pads = node.ints("pads")
    return not padded(node) or (
        set(node.ints("dilations")) <= {1} and all(pad < size for pad, size in zip(pads, kernel * 2, strict=False))
    )


def reduced_axes(node: Node, view: ValueView) -> list[int] | None:
    """Axes that a Reduce operator takes together; None where they are not known."""
    shape = view.input_shape(node, 0)
    listed = view.stated(node, "axes", ())
    if shape is None or listed is None or not all(-len(shape) <= axis < len(shape) for axis in listed):
        return None
    if not listed and not view.roles(node).number(node, "noop_with_empty_axes"):
        return list(range(len(shape)))
    return sorted({axis % len(shape) for axis in listed})


def reduction(summary: Summary) -> ValueRule:
    """Elements along some axes taken together."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        x, axes = view.input(node, 0), reduced_axes(node, view)
        if x is None or axes is None:
            return None
        result = summary(level(x, axes), node, view.rounding(node))
        keeps = view.roles(node).number(node, "keepdims", 1)
        return result if keeps else result.moved(lambda array: np.squeeze(array, axis=tuple(axes)))

    return rule


def running_total(node: Node, view: ValueView) -> Interval | None:
    """Sums of any number of elements."""
    x = leveled(node, view)
    return None if x is None else hull(total(x, node, 0.0), point(0.0))


def resize_values(node: Node, view: ValueView) -> Interval | None:
    """Between the elements, unless the interpolation overshoots."""
    x, axes = view.input(node, 0), resized_axes(node, view)
    if x is None or axes is None:
        return None
    spread, mode = level(x, axes), node.text("mode", "nearest")
    if mode == "nearest" or not axes:
        return spread
    if mode == "linear":
        return mean(spread, node, view.rounding(node))
    return either(spread.zero, spread, finite(spread))


def resized_axes(node: Node, view: ValueView) -> list[int] | None:
    """Axes along which Resize computes elements; all if unknown; None if values from outside may come in."""
    before, after, scales = view.input_shape(node, 0), view.shape(node.outputs[0]), _scales(node, view)
    odd = node.text("coordinate_transformation_mode").startswith("tf_") or "keep_aspect_ratio_policy" in node.attributes
    if before is None or after is None or len(before) != len(after) or odd:
        return None
    if scales is None:
        return list(range(len(before)))
    return [axis for axis, old in enumerate(before) if old is None or old != after[axis] or scales.get(axis, 1.0) != 1]


def _scales(node: Node, view: ValueView) -> dict[int, float] | None:
    """Scale of each axis that has one, which may be other than 1 though the size stays; None where not known."""
    given = node.attributes.get("scales")
    position = 2 if node.op_type == "Resize" and node.opset >= 11 else 1
    if given is None and node.has(position):
        constant = view.graph.constants.get(node.inputs[position])
        given = None if constant is None or constant.overridable else constant.values()
        if given is None:
            return None
    numbers = [float(scale) for scale in given] if isinstance(given, tuple) else []
    return dict(zip(node.ints("axes") or range(len(numbers)), numbers, strict=False))


def leveled(node: Node, view: ValueView) -> Interval | None:
    """All elements of the first input together, as each may count for each of the result."""
    x = view.input(node, 0)
    return None if x is None else level(x, range(x.low.ndim))


def picked_values(node: Node, view: ValueView) -> Interval | None:
    """Elements from any place."""
    x, after = view.input(node, 0), view.shape(node.outputs[0])
    return None if x is None or after is None or len(after) != x.low.ndim else level(x, range(x.low.ndim))


def tile_values(node: Node, view: ValueView) -> Interval | None:
    """Elements from any place along the axes whose sizes change."""
    x, before, after = view.input(node, 0), view.input_shape(node, 0), view.shape(node.outputs[0])
    if x is None or before is None or after is None or len(after) != len(before):
        return None
    return level(x, [axis for axis, size in enumerate(before) if size is None or size != after[axis]])


# Intervals through operators that put tensors together, grow one, limit it or store it otherwise.


WHOLE_EXACT = {"float32": 2.0**24, "float64": 2.0**53}
"""Whole numbers up to which each real type is exact; 256 for the others."""


def same_values(node: Node, view: ValueView) -> Interval | None:
    """The input itself."""
    return view.input(node, 0)


def limited_values(low: float, high: float) -> ValueRule:
    """Numbers limited to a range."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        x = view.input(node, 0)
        return None if x is None else minimum(maximum(x, point(low), 0.0), point(high), 0.0)

    return rule


def clip_values(node: Node, view: ValueView) -> Interval | None:
    """Limits from attributes or from inputs 1 and 2."""
    x = view.input(node, 0)
    low = view.input(node, 1) if node.has(1) else _limit(node, "min", -math.inf)
    high = view.input(node, 2) if node.has(2) else _limit(node, "max", math.inf)
    if x is None or low is None or high is None:
        return None
    return minimum(maximum(x, low, 0.0), high, 0.0)


def _limit(node: Node, name: str, default: float) -> Interval:
    value = real_attribute(node, name, default)
    return between(value, value)


def cast_values(node: Node, view: ValueView) -> Interval | None:
    """To integers towards 0; to a real type by rounding, which whole numbers of some size do not need."""
    x, source, target = view.input(node, 0), view.elem_type(node.inputs[0]), view.made_type(node)
    if x is None or source == target:
        return x
    if target == "bool":
        return within(x, 0.0, 1.0)
    if "int" in target:
        return x.bent(np.trunc)
    margins = [_cast_margin(end, view.rounding(node), WHOLE_EXACT.get(target, 256.0)) for end in x[:2]]
    return x.widened(*margins)


def _cast_margin(end: Floats, rounding: float, exact: float) -> Floats:
    whole = (end == np.trunc(end)) & (np.abs(end) < exact)
    return np.where(whole | ~np.isfinite(end), 0, rounding * np.abs(end))


def lengths_of(node: Node, view: ValueView) -> tuple[int, list[int]] | None:
    """Axis of a concatenation from the front, and the length of each part along it; None where not known."""
    shapes = [view.input_shape(node, position) for position in view.roles(node).data_of(node)]
    ranks = {None if shape is None else len(shape) for shape in shapes}
    rank = ranks.pop() if ranks else None
    axis = view.roles(node).number(node, "axis", 1)
    if ranks or rank is None or not -rank <= axis < rank:
        return None
    lengths = [None if shape is None else shape[axis] for shape in shapes]
    known = [length for length in lengths if length is not None]
    return (axis % rank, known) if len(known) == len(lengths) else None


def concat_values(node: Node, view: ValueView) -> Interval | None:
    """Parts one after the other."""
    parts = [view.part(node, position) for position in view.roles(node).data_of(node)]
    return view.join(parts, lengths_of(node, view))


def quantized_concat(node: Node, view: ValueView) -> Interval | None:
    """Parts in the steps of the result."""
    parts = [_part(node, view, position) for position in view.roles(node).data_of(node)]
    return view.join(parts, lengths_of(node, view))


def _part(node: Node, view: ValueView, position: int) -> Interval | None:
    steps = view.part(node, position)
    real = None if in_steps_of_result(node, view, position) else real_steps(steps, node, view, position)
    if steps is None or real is None:
        return steps
    result = requantized(real, node, view)
    return result if result is not None else steps.forgotten(np.ones(steps.low.shape, bool))


def joined(parts: Sequence[Interval | None], where: tuple[int, list[int]] | None) -> Interval | None:
    """Arrays of all parts, spread out along one axis; None where they are too large or one is not known."""
    known = [part for part in parts if part is not None]
    if where is None or len(known) < len(parts) or not known:
        return None
    axis, lengths = where
    shapes = [(*part.low.shape[:axis], 1, *part.low.shape[axis + 1 :]) for part in known]
    common = np.broadcast_shapes(*shapes)
    if prod(common) * sum(lengths) > MAX_CELLS:
        return None

    def side(bounds: Sequence[np.ndarray]) -> np.ndarray:
        spread = [
            np.broadcast_to(bound, (*common[:axis], length, *common[axis + 1 :]))
            for bound, length in zip(bounds, lengths, strict=True)
        ]
        return np.concatenate(spread, axis=axis)

    fault = next((part.fault for part in known if part.fault is not None), None)
    low = side([part.low for part in known])
    exact = all(part.low is part.high for part in known)
    high = low if exact else side([part.high for part in known])
    return Interval(low, high, side([part.varies for part in known]), fault)


def pads_of(node: Node, view: ValueView) -> list[tuple[int, int]] | None:
    """Elements that Pad adds before and after each axis; None where they are not known or elements are cut."""
    shape, pads, pairs = view.input_shape(node, 0), view.stated(node, "pads"), view.stated(node, "pairs")
    if shape is None or (pads is None and pairs is None):
        return None
    pads = pads if pairs is None else pairs[::2] + pairs[1::2]
    axes = view.stated(node, "axes", range(len(shape)))
    if pads is None or axes is None or len(pads) != 2 * len(axes) or min(pads, default=0) < 0:
        return None
    around = [(0, 0)] * len(shape)
    for element, axis in enumerate(axes):
        if not -len(shape) <= axis < len(shape):
            return None
        around[axis % len(shape)] = pads[element], pads[element + len(axes)]
    return around


def pad_values(node: Node, view: ValueView) -> Interval | None:
    """A constant around; along an axis that is not spread out, only what equals the constant stays one number."""
    x, pads, shape = view.input(node, 0), pads_of(node, view), view.input_shape(node, 0)
    if x is None or shape is None:
        return None
    if node.text("mode", "constant") != "constant":
        return level(x, range(len(shape))) if pads is None else level(x, _grown(pads))
    value = view.scalar(node, 2) if node.has(2) else point(real_attribute(node, "value", 0.0))
    if pads is None:
        return hull(level(x, range(len(shape))), value)
    for axis in _grown(pads):
        spread = prod(x.low.shape[:axis] + x.low.shape[axis + 1 :]) * (sum(pads[axis]) + x.low.shape[axis])
        if x.low.shape[axis] == shape[axis] and spread <= MAX_CELLS:
            x = _around(x, axis, pads[axis], value)
        else:
            x = hull(level(x, [axis]), value)
    return x


def _grown(pads: Sequence[tuple[int, int]]) -> list[int]:
    return [axis for axis, around in enumerate(pads) if any(around)]


def _around(x: Interval, axis: int, around: tuple[int, int], value: Interval) -> Interval:
    """An interval with a number before and after it."""
    widths = [(0, 0)] * x.low.ndim
    widths[axis] = around
    sides = [np.pad(array, widths, constant_values=edge.item()) for array, edge in zip(x[:3], value[:3], strict=True)]
    exact = x.low is x.high and value.low is value.high
    return Interval(sides[0], sides[0] if exact else sides[1], sides[2], x.fault or value.fault)


def expand_values(node: Node, view: ValueView) -> Interval | None:
    """Repeated along axes of size 1."""
    x, shape = view.input(node, 0), view.shape(node.outputs[0])
    return None if x is None or shape is None or len(shape) < x.low.ndim else ranked(x, len(shape))


# Intervals where tensors keep their own scales: real numbers of the inputs, and steps of the result's scale.


CLAMPS = {
    "NONE": (-np.inf, np.inf),
    "RELU": (0.0, np.inf),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}
"""Bounds of the activations that an operator may end in; the others compute something else."""
HALF = 0.5
SHORT_MULTIPLIER = 2.0**-14
"""Relative error of results in int16, whose multipliers have 16 bits (MultiplyByQuantizedMultiplier of int64)."""
WIDE = ("int16",)
"""Results of which one step of the scale says little of how far a function in fixed-point numbers is off."""


class RealView(ValueView):
    """Inputs as real numbers."""

    def __init__(self, view: ValueView) -> None:
        self.graph = view.graph
        self._view = view

    def input(self, node: Node, position: int) -> Interval | None:
        """What an input holds, in real numbers."""
        return self._real(node, position, self._view.input(node, position))

    def part(self, node: Node, position: int) -> Interval | None:
        """Part that an input adds to a concatenation, in real numbers."""
        return self._real(node, position, self._view.part(node, position))

    def join(self, parts: Sequence[Interval | None], where: tuple[int, list[int]] | None, /) -> Interval | None:
        """Parts one after the other."""
        return self._view.join(parts, where)

    def layer_sum(self, node: Node) -> LayerSum | None:
        """Sum of a layer, in its own unit."""
        return self._view.layer_sum(node)

    def roles(self, node: Node) -> Roles:
        """What the inputs of a node are for."""
        return self._view.roles(node)

    def made_type(self, node: Node) -> str:
        """float32 for a result that is stored in steps of a scale."""
        return "float32" if node.outputs[0] in self.graph.quantization else super().made_type(node)

    def _real(self, node: Node, position: int, steps: Interval | None) -> Interval | None:
        stored = self.graph.quantization.get(node.inputs[position]) if steps is not None else None
        if steps is None or stored is None or not is_whole(self.elem_type(node.inputs[position])):
            return steps
        scale, zero = (vector_of(numbers, stored, steps.low.ndim) for numbers in (stored.scales, stored.zero_points))
        return multiply(subtract(steps, zero, 0.0), scale, 0.0)


def vector_of(numbers: Sequence[float], stored: StoredQuantization, rank: int) -> Interval:
    """Scales or zero-points where they lie in a tensor; 0 where the file has none."""
    if len(numbers) < 2:
        return point(float(numbers[0]) if numbers else 0.0)
    return lay(exactly(np.array(numbers, np.float64)), stored.axis, rank)


def through_scales(rule: ValueRule, *, error: float = 0.0, rescales: bool = False, copies: bool = False) -> ValueRule:
    """A function of real numbers as an operator with stored scales computes it.

    `error` is how far the kernel may be from it in steps of an int8 result; `rescales` tells that the kernel multiplies
    integers by one factor, whose result is rounded twice; `copies` that it takes stored numbers as they are, so that
    nothing is said where operands and result have other scales or zero-points.
    """

    def values(node: Node, view: ValueView) -> Interval | None:
        if (error > HALF and view.made_type(node) in WIDE) or (copies and not _one_scale(node, view)):
            return None
        inputs = RealView(view)
        real = rule(node, inputs)
        factor = rescaling(node, view) if rescales else 0.0
        return None if real is None else stored(real, node, view, error + float(twice_rounded(np.float64(factor))))

    return values


def _one_scale(node: Node, view: ValueView) -> bool:
    """Whether all data has the scale and zero-point of the result, or none has any."""
    names = (node.outputs[0], *(node.inputs[position] for position in view.roles(node).data_of(node)))
    return len({view.graph.quantization.get(name) for name in names}) == 1


def rescaling(node: Node, view: ValueView) -> float:
    """Factor between integers of the operands and steps of the result; 0 where there is none."""
    result = view.graph.quantization.get(node.outputs[0])
    operands = [view.graph.quantization.get(node.inputs[position]) for position in view.roles(node).data_of(node)]
    if result is None or result.scales[0] <= 0:
        return 0.0
    return float(np.prod([operand.scales[0] for operand in operands if operand is not None])) / result.scales[0]


def twice_rounded(factor: Floats | np.float64) -> Floats:
    """How far two roundings take a product from one rounding, in steps: to 2**-n first, then to 1.

    With a factor of 2**-n times 0.5 to 1, n from 1 up; nothing where it is 0.5 or more
    (MultiplyByQuantizedMultiplier, tensorflow/lite/kernels/internal/common.cc; arm_nn_requantize).
    """
    return np.where(np.asarray(factor) < HALF, factor, 0.0)


def stored(real: Interval, node: Node, view: ValueView, error: Floats | float = 0.0) -> Interval | None:
    """A real result behind the activation that the operator ends in, as its tensor holds it."""
    bounds = CLAMPS.get(node.text("fused_activation_function", "NONE"))
    if bounds is None:
        return None
    clamped = real if bounds == CLAMPS["NONE"] else real.bent(lambda end: np.clip(end, *bounds))
    if not is_whole(view.made_type(node)):
        return clamped
    result = view.graph.quantization.get(node.outputs[0])
    if result is None:
        unscaled = all(name not in view.graph.quantization for name in node.inputs)
        return clamped if unscaled else None
    if len(result.scales) != 1 or not result.scales[0] > 0:
        return None
    steps = divide(clamped, point(result.scales[0]), 0.0)
    relative = SHORT_MULTIPLIER if view.made_type(node) in WIDE else SLACK
    margins = [np.where(steps.zero, 0, NEAR + error + relative * _size(end)) for end in steps[:2]]
    zero = point(float(result.zero_points[0]) if result.zero_points else 0.0)
    return in_steps(steps.widened(*margins), zero, view.made_type(node))


# Which elements of its inputs an operator needs for some elements of its result.


def elementwise_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Needed are the elements that a needed element of the result is computed from."""
    masks: dict[int, Mask] = {}
    for position in view.roles(node).data_of(node):
        shape = view.input_shape(node, position)
        if shape is not None and mask.ndim >= len(shape):
            masks[position] = reduced(mask, shape)
    return masks


def plane_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel's plane."""
    if mask.ndim < 3 or node.int("channels_last"):
        return None
    return {0: anywhere(mask, view.roles(node).plane(mask.ndim))}


def reduction_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element along the axes that are taken together."""
    axes, shape = reduced_axes(node, view), view.input_shape(node, 0)
    after = view.shape(node.outputs[0])
    if axes is None or shape is None or after is None or len(after) != mask.ndim:
        return None
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    back = regrouped(mask, after, kept)
    return None if back is None else {0: back}


def resize_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element along the axes that are computed anew."""
    axes = resized_axes(node, view)
    return None if axes is None or not mask.ndim else {0: anywhere(mask, axes)}


def concat_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Each part where the result holds it."""
    where, parts = lengths_of(node, view), list(view.roles(node).data_of(node))
    if where is None or not mask.ndim:
        return None
    axis, lengths = where
    if mask.shape[axis] == 1:
        return dict.fromkeys(parts, mask)
    return dict(zip(parts, np.split(mask, np.cumsum(lengths)[:-1], axis=axis), strict=True))


def pad_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """The part of the result inside the padding."""
    pads, shape = pads_of(node, view), view.input_shape(node, 0)
    if pads is None or shape is None or len(shape) != mask.ndim or node.text("mode", "constant") != "constant":
        return None
    for axis, (before, after) in enumerate(pads):
        size = shape[axis]
        if mask.shape[axis] == 1:
            continue
        if size is None or min(before, after) < 0 or mask.shape[axis] != before + size + after:
            return None  # a damaged file says another size of the result
        mask = mask.take(np.arange(before, before + size), axis)
    return {0: mask}


# Intervals through normalisations: with numbers per channel, or with the mean, deviation or sum of some axes.


def batch_normalization(node: Node, view: ValueView) -> Interval | None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    shape = view.input_shape(node, 0)
    if shape is None or len(shape) < 2 or node.opset < 7 or node.int("training_mode"):
        return None
    x, *vectors = (view.input(node, position) for position in range(5))
    if x is None:
        return None
    known = [lay(vector, 1, len(shape)) for vector in vectors if vector is not None and vector.low.ndim <= 1]
    if len(known) < 4 or not fits(x.low.shape, *(vector.low.shape for vector in known)):
        return None
    scale, bias, average, variance = known
    rounding, power = view.rounding(node), add(variance, point(real_attribute(node, "epsilon", 1e-5)), 0.0)
    flawed = power.flawed(~(power.low > 0) & ~np.isnan(power.low), Fault("may be NaN or infinite", variance))
    factor = divide(scale, bent(flawed, SQRT, node, 0.0), rounding)
    return add(multiply(subtract(x, average, rounding), factor, 2 * rounding), bias, 2 * rounding)


def plane_normalization(node: Node, view: ValueView) -> Interval | None:
    """Over a plane or other axes; elements that are all the same have variance 0."""
    x = leveled(node, view)
    if x is None:
        return None
    unsafe = not real_attribute(node, "epsilon", 1e-5) > 0
    return finite(x).flawed(np.full(x.low.shape, unsafe), Fault("may be NaN"))


def deviation_normalization(node: Node, view: ValueView) -> Interval | None:
    """Divided by the deviation. It is 0 where all elements are equal, as in most new lanes."""
    x = leveled(node, view)
    return None if x is None else x.flawed(np.ones(x.low.shape, bool), Fault("may be NaN"))


def norm_division(node: Node, view: ValueView) -> Interval | None:
    """Divided by the norm along an axis. The norm is 0 where all elements are 0."""
    x = leveled(node, view)
    if x is None:
        return None
    return within(x, -1.0, 1.0).flawed(x.holds(0), Fault("is NaN" if x.zero.all() else "may be NaN"))


def share_values(node: Node, view: ValueView) -> Interval | None:
    """Shares of 1."""
    x = leveled(node, view)
    return None if x is None else within(x, 0.0, 1.0)
