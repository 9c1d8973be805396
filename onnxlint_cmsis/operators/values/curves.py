"""Functions of one variable on intervals, with the numbers where they are defined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.interval import Fault, Interval, either, finite, made, within
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.values.real_functions import (
    Real,
    celu,
    elu,
    erf,
    fast_gelu,
    gelu,
    hard_sigmoid,
    hard_swish,
    mish,
    plain,
    selu,
    shrink,
    sigmoid,
    sigmoid_gate,
    sloped,
    softplus,
    softsign,
    thresholded,
)
from onnxlint_cmsis.operators.values.value_view import ValueView, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Floats
    from onnxlint_cmsis.graph.model import Node

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
        return made(value, value, x)
    points = [x.low, x.high, *(np.clip(turn, x.low, x.high) for turn in curve.turns)]
    values = [curve.value(point, node) for point in points]
    result = made(np.minimum.reduce(values), np.maximum.reduce(values), x)
    return result if curve.ends is None else either(x.exact, result, curve.ends(x, node))


def _checked(x: Interval, result: Interval, curve: Curve) -> Interval:
    """The result, with elements outside the domain and at poles marked, and those that are too large."""
    low, high = curve.domain
    outside = (x.low < low) | (x.high > high)
    if ((x.high < low) | (x.low > high)).all():
        return result.flawed(outside, Fault("is NaN"))
    pole = np.zeros(outside.shape, bool)
    for place in curve.poles:
        pole = pole | x.holds(place)
    if (pole & x.exact).all():
        return result.flawed(pole, Fault("is infinite"))
    if outside.any() or pole.any():
        words = [word for word, given in (("NaN", outside), ("infinite", pole)) if given.any()]
        return result.flawed(outside | pole, Fault(f"may be {' or '.join(words)}"))
    if curve.grows:
        large = ~result.bounded & ~np.isnan(x.low)
        return result.flawed(large, Fault("is infinite" if x.exact.all() else "may be infinite"))
    return result.flawed(np.isnan(result.low) & ~np.isnan(x.low), Fault("may be NaN or infinite"))


def _gated(x: Interval, _node: Node) -> Interval:
    """The input times something from 0 to 1."""
    return made(np.minimum(x.low, 0), np.maximum(x.high, 0), x)


def _waving(x: Interval, _node: Node) -> Interval:
    return within(x, -1.0, 1.0)


def _shrunk(x: Interval, node: Node) -> Interval:
    bias = abs(real_attribute(node, "bias", 0.0))
    return made(np.minimum(x.low - bias, 0), np.maximum(x.high + bias, 0), x)


def _test(function: Callable[[Floats], Floats]) -> Curve:
    """A truth value of what is finite."""
    return Curve(plain(function), rounds=0, ends=lambda x, _node: within(x, 0.0, 1.0))


FAST_GELU = Curve(fast_gelu, ends=_gated)
"""Gelu by a hyperbolic tangent."""
CURVES: dict[str, Curve] = {
    "Abs": Curve(plain(np.abs), (0.0,), 0),
    "Acos": Curve(plain(np.arccos), domain=(-1.0, 1.0)),
    "Acosh": Curve(plain(np.arccosh), domain=(1.0, math.inf)),
    "Asin": Curve(plain(np.arcsin), domain=(-1.0, 1.0)),
    "Asinh": Curve(plain(np.arcsinh)),
    "Atan": Curve(plain(np.arctan)),
    "Atanh": Curve(plain(np.arctanh), domain=(-1.0, 1.0), poles=(-1.0, 1.0)),
    "Ceil": Curve(plain(np.ceil), rounds=0, jumps=True),
    "Celu": Curve(celu, (0.0,)),
    "Cos": Curve(plain(np.cos), ends=_waving),
    "Cosh": Curve(plain(np.cosh), (0.0,), grows=True),
    "Elu": Curve(elu, (0.0,)),
    "Erf": Curve(erf),
    "Exp": Curve(plain(np.exp), grows=True, least=0.0),
    "FastGelu": FAST_GELU,
    "Floor": Curve(plain(np.floor), rounds=0, jumps=True),
    "Gelu": Curve(gelu, (-0.7517916, -0.7524614), 8),
    "HardSigmoid": Curve(hard_sigmoid, least=0.0),
    "HardSwish": Curve(hard_swish, (-3.0, -1.5)),
    "IsInf": _test(lambda x: x * 0),
    "IsNaN": _test(lambda x: x * 0),
    "LeakyRelu": Curve(sloped("alpha", 0.01), (0.0,)),
    "Log": Curve(plain(np.log), domain=(0.0, math.inf), poles=(0.0,)),
    "Mish": Curve(mish, ends=_gated),
    "Neg": Curve(plain(np.negative), rounds=0),
    "Not": _test(lambda x: 1 - x),
    "QuickGelu": Curve(sigmoid_gate(1.702), ends=_gated),
    "Reciprocal": Curve(plain(lambda x: 1 / x), poles=(0.0,)),
    "Relu": Curve(lambda x, _node: np.maximum(x, 0), rounds=0),
    "Round": Curve(plain(np.rint), rounds=0, jumps=True),
    "Selu": Curve(selu, (0.0,)),
    "Shrink": Curve(shrink, ends=_shrunk),
    "Sigmoid": Curve(sigmoid, least=0.0),
    "Sign": Curve(plain(np.sign), rounds=0, jumps=True),
    "Sin": Curve(plain(np.sin), ends=_waving),
    "Sinh": Curve(plain(np.sinh), grows=True),
    "Softplus": Curve(softplus, least=0.0),
    "Softsign": Curve(softsign),
    "Sqrt": Curve(plain(np.sqrt), domain=(0.0, math.inf), least=0.0),
    "Swish": Curve(sigmoid_gate(1.0), ends=_gated),
    "Tan": Curve(plain(np.tan), ends=lambda x, _node: finite(x)),
    "Tanh": Curve(plain(np.tanh)),
    "ThresholdedRelu": Curve(thresholded, rounds=0, jumps=True, ends=_gated),
}
"""Functions of one variable, by operator."""
PLAIN_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh")
"""Fused activations without parameters."""


def curve_values(node: Node, view: ValueView) -> Interval | None:
    """Any function of `CURVES`."""
    x = view.input(node, 0)
    return None if x is None else bent(x, CURVES[node.op_type], node, view.rounding(node))


def activated(x: Interval, node: Node, rounding: float) -> Interval | None:
    """The activation that a fused layer names; None where it has parameters."""
    name = node.text("activation")
    if not name:
        return x
    return bent(x, CURVES[name], node, rounding) if name in PLAIN_ACTIVATIONS else None
