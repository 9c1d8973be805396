"""Interval arithmetic: functions of two variables, with the numbers for which they are defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.intervals import Fault, Interval, either, hull, interval_of, negative, point

if TYPE_CHECKING:
    from onnxlint_cmsis.model.intervals import Floats


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
