"""Functions of one variable on intervals, with the numbers where they are defined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxlint_cmsis.algebra.interval import Fault, Interval, either, finite, made, within
from onnxlint_cmsis.operators.values.value_view import ValueView, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Floats
    from onnxlint_cmsis.graph.model import Node

Real = Callable[["Floats", "Node"], "Floats"]
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


def _times(factor: float, x: Floats) -> Floats:
    return np.where(factor == 0, 0.0, factor * x)


def _sloped(attribute: str, default: float) -> Real:
    """One slope below 0, by attribute, and the number itself above."""
    return lambda x, node: np.where(x < 0, _times(real_attribute(node, attribute, default), x), x)


def _elu(x: Floats, node: Node) -> Floats:
    return np.where(x < 0, _times(real_attribute(node, "alpha", 1.0), np.expm1(np.minimum(x, 0))), x)


def _celu(x: Floats, node: Node) -> Floats:
    alpha = real_attribute(node, "alpha", 1.0)
    below = alpha * np.expm1(np.minimum(x, 0) / alpha) if alpha > 0 else np.full(x.shape, np.nan)
    return np.where(x < 0, below, x)


def _selu(x: Floats, node: Node) -> Floats:
    alpha, gamma = real_attribute(node, "alpha", 1.6732632423543772), real_attribute(node, "gamma", 1.0507009873554805)
    return np.where(x < 0, gamma * alpha * np.expm1(np.minimum(x, 0)), _times(gamma, x))


def _hard_sigmoid(x: Floats, node: Node) -> Floats:
    alpha, beta = real_attribute(node, "alpha", 0.2), real_attribute(node, "beta", 0.5)
    return np.minimum(np.maximum(_times(alpha, x) + beta, 0), 1)


def _hard_swish(x: Floats, _node: Node) -> Floats:
    return np.where(np.isneginf(x), 0, x * np.clip(x / 6 + 0.5, 0, 1))


def _erf(x: Floats, _node: Node) -> Floats:
    return np.array([math.erf(value) for value in x.flat]).reshape(x.shape)


def _gelu(x: Floats, node: Node) -> Floats:
    if node.text("approximate", "none") == "tanh":
        return _fast_gelu(x, node)
    return np.where(np.isneginf(x), 0, 0.5 * x * (1 + _erf(x / math.sqrt(2), node)))


def _fast_gelu(x: Floats, _node: Node) -> Floats:
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return np.where(np.isneginf(x), 0, 0.5 * x * (1 + bend))


def _sigmoid(x: Floats, _node: Node) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _softplus(x: Floats, _node: Node) -> Floats:
    return np.asarray(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0))


def _softsign(x: Floats, _node: Node) -> Floats:
    return np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))


def _sigmoid_gate(slope: float) -> Real:
    """The input times the logistic function of it."""
    return lambda x, node: np.where(np.isneginf(x), 0, x * _sigmoid(real_attribute(node, "alpha", slope) * x, node))


def _mish(x: Floats, node: Node) -> Floats:
    return np.where(np.isneginf(x), 0, x * np.tanh(_softplus(x, node)))


def _thresholded(x: Floats, node: Node) -> Floats:
    return np.where(x > real_attribute(node, "alpha", 1.0), x, x * 0)


def _shrink(x: Floats, node: Node) -> Floats:
    bias, limit = real_attribute(node, "bias", 0.0), real_attribute(node, "lambd", 0.5)
    return np.where(x > limit, x - bias, np.where(x < -limit, x + bias, x * 0))


def _plain(function: Callable[[Floats], Floats]) -> Real:
    return lambda x, _node: np.asarray(function(x))


def _test(function: Callable[[Floats], Floats]) -> Curve:
    """A truth value of what is finite."""
    return Curve(_plain(function), rounds=0, ends=lambda x, _node: within(x, 0.0, 1.0))


FAST_GELU = Curve(_fast_gelu, ends=_gated)
"""Gelu by a hyperbolic tangent."""
CURVES: dict[str, Curve] = {
    "Abs": Curve(_plain(np.abs), (0.0,), 0),
    "Acos": Curve(_plain(np.arccos), domain=(-1.0, 1.0)),
    "Acosh": Curve(_plain(np.arccosh), domain=(1.0, math.inf)),
    "Asin": Curve(_plain(np.arcsin), domain=(-1.0, 1.0)),
    "Asinh": Curve(_plain(np.arcsinh)),
    "Atan": Curve(_plain(np.arctan)),
    "Atanh": Curve(_plain(np.arctanh), domain=(-1.0, 1.0), poles=(-1.0, 1.0)),
    "Ceil": Curve(_plain(np.ceil), rounds=0, jumps=True),
    "Celu": Curve(_celu, (0.0,)),
    "Cos": Curve(_plain(np.cos), ends=_waving),
    "Cosh": Curve(_plain(np.cosh), (0.0,), grows=True),
    "Elu": Curve(_elu, (0.0,)),
    "Erf": Curve(_erf),
    "Exp": Curve(_plain(np.exp), grows=True, least=0.0),
    "FastGelu": FAST_GELU,
    "Floor": Curve(_plain(np.floor), rounds=0, jumps=True),
    "Gelu": Curve(_gelu, (-0.7517916, -0.7524614), 8),
    "HardSigmoid": Curve(_hard_sigmoid, least=0.0),
    "HardSwish": Curve(_hard_swish, (-3.0, -1.5)),
    "IsInf": _test(lambda x: x * 0),
    "IsNaN": _test(lambda x: x * 0),
    "LeakyRelu": Curve(_sloped("alpha", 0.01), (0.0,)),
    "Log": Curve(_plain(np.log), domain=(0.0, math.inf), poles=(0.0,)),
    "Mish": Curve(_mish, ends=_gated),
    "Neg": Curve(_plain(np.negative), rounds=0),
    "Not": _test(lambda x: 1 - x),
    "QuickGelu": Curve(_sigmoid_gate(1.702), ends=_gated),
    "Reciprocal": Curve(_plain(lambda x: 1 / x), poles=(0.0,)),
    "Relu": Curve(lambda x, _node: np.maximum(x, 0), rounds=0),
    "Round": Curve(_plain(np.rint), rounds=0, jumps=True),
    "Selu": Curve(_selu, (0.0,)),
    "Shrink": Curve(_shrink, ends=_shrunk),
    "Sigmoid": Curve(_sigmoid, least=0.0),
    "Sign": Curve(_plain(np.sign), rounds=0, jumps=True),
    "Sin": Curve(_plain(np.sin), ends=_waving),
    "Sinh": Curve(_plain(np.sinh), grows=True),
    "Softplus": Curve(_softplus, least=0.0),
    "Softsign": Curve(_softsign),
    "Sqrt": Curve(_plain(np.sqrt), domain=(0.0, math.inf), least=0.0),
    "Swish": Curve(_sigmoid_gate(1.0), ends=_gated),
    "Tan": Curve(_plain(np.tan), ends=lambda x, _node: finite(x)),
    "Tanh": Curve(_plain(np.tanh)),
    "ThresholdedRelu": Curve(_thresholded, rounds=0, jumps=True, ends=_gated),
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
