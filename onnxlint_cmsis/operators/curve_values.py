"""Functions of one variable on intervals, with the numbers where they are defined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.records import dataclass
from onnxlint_cmsis.model.intervals import Fault, Interval, either, interval_of, within
from onnxlint_cmsis.operators.curve_functions import Real, fast_gelu, leaky_relu, plain, sigmoid, sigmoid_gate
from onnxlint_cmsis.operators.views import ValueView, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Floats


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
