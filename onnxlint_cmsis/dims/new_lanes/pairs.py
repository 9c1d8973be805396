"""Functions of two variables on intervals, with the numbers where they are defined."""

from __future__ import annotations

import math
from collections.abc import Callable

from onnxlint_cmsis.dims.new_lanes.interval import ZERO, Interval, NotFiniteError, hull, widened

Pair = Callable[[Interval, Interval, float], Interval]
"""Values of a function, given the relative rounding error. Raises NotFiniteError."""


def add(left: Interval, right: Interval, rounding: float) -> Interval:
    """Sum; with 0 it is exact."""
    made = Interval(left.low + right.low, left.high + right.high)
    if ZERO in (left, right):
        return made
    margin = [rounding * (abs(one) + abs(other)) for one, other in zip(left, right, strict=True)]
    return Interval(made.low - margin[0], made.high + margin[1])


def subtract(left: Interval, right: Interval, rounding: float) -> Interval:
    """Difference."""
    return add(left, Interval(-right.high, -right.low), rounding)


def multiply(left: Interval, right: Interval, rounding: float) -> Interval:
    """Product; 0 times a finite number is 0."""
    products = [0.0 if 0 in (one, other) else one * other for one in left for other in right]
    return _unless_too_large(widened(Interval(min(products), max(products)), rounding), left, right)


def _unless_too_large(made: Interval, *operands: Interval) -> Interval:
    if not made.bounded and all(one.bounded for one in operands):
        raise NotFiniteError("may be infinite")
    return made


def divide(left: Interval, right: Interval, rounding: float) -> Interval:
    """Quotient of real numbers."""
    if right == ZERO:
        outcome = "is NaN" if left == ZERO else "may be NaN or infinite" if 0 in left else "is infinite"
        raise NotFiniteError(outcome, right, divides=True)
    if 0 in right:
        outcome = "may be NaN" if left == ZERO else "may be NaN or infinite" if 0 in left else "may be infinite"
        raise NotFiniteError(outcome, right, divides=True)
    return multiply(left, Interval(1 / right.high, 1 / right.low), rounding)


def divide_whole(left: Interval, right: Interval, _rounding: float) -> Interval:
    """Quotient of integers, rounded towards 0."""
    if 0 in right:
        raise NotFiniteError("is not defined" if right == ZERO else "may not be defined", right, divides=True)
    return Interval(-largest, largest) if (largest := max(map(abs, left))) else ZERO


def modulo(_left: Interval, right: Interval, _rounding: float) -> Interval:
    """Remainder, smaller than the divisor."""
    if 0 in right:
        raise NotFiniteError("is not defined" if right == ZERO else "may not be defined", right, divides=True)
    largest = max(map(abs, right))
    return Interval(-largest, largest)


def power(base: Interval, exponent: Interval, rounding: float) -> Interval:
    """Base to a power; to one whole power of 0 or more from any base, else from bases of 0 or more."""
    whole = exponent.is_point and exponent.low == math.floor(exponent.low)
    if base.low < 0 and not whole:
        raise NotFiniteError("is NaN" if base.high < 0 and exponent.is_point else "may be NaN")
    if exponent.low < 0 and 0 in base:
        certain = base == ZERO and exponent.high < 0
        raise NotFiniteError("is infinite" if certain else "may be infinite")
    if not exponent.is_point and not (exponent.bounded and base.bounded):
        raise NotFiniteError("may be infinite")
    ends = [_power(one, other) for one in base for other in exponent]
    if base.low < 0 < base.high:
        ends.append(_power(0.0, exponent.low))
    if not exponent.is_point:
        ends.append(1.0)
    return _unless_too_large(widened(Interval(min(ends), max(ends)), rounding), base, exponent)


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 else math.inf


def maximum(left: Interval, right: Interval, _rounding: float) -> Interval:
    """The larger one."""
    return Interval(max(left.low, right.low), max(left.high, right.high))


def minimum(left: Interval, right: Interval, _rounding: float) -> Interval:
    """The smaller one."""
    return Interval(min(left.low, right.low), min(left.high, right.high))


def prelu(left: Interval, slope: Interval, rounding: float) -> Interval:
    """Times the slope below 0."""
    below = multiply(Interval(min(left.low, 0.0), min(left.high, 0.0)), slope, rounding)
    return hull(below, maximum(left, ZERO, rounding)) if left.low < 0 else left


def mean(left: Interval, right: Interval, rounding: float) -> Interval:
    """Between the two."""
    return widened(hull(left, right), rounding)


PAIRS: dict[str, Pair] = {
    "Add": add,
    "Div": divide,
    "Max": maximum,
    "Mean": mean,
    "Min": minimum,
    "Mod": modulo,
    "Mul": multiply,
    "PRelu": prelu,
    "Pow": power,
    "Sub": subtract,
    "Sum": add,
}
"""Functions of two variables, or of any number taken two by two."""

WHOLE_PAIRS: dict[str, Pair] = {**PAIRS, "Div": divide_whole}
"""The same for integers."""
