"""Functions of one variable on intervals, with the numbers where they are defined."""

from __future__ import annotations

import math
from collections.abc import Callable

from onnxlint_cmsis.dims.new_lanes.interval import (
    ANY,
    INFINITY,
    NONE_BELOW_ZERO,
    SHARE,
    ZERO,
    Interval,
    NotFiniteError,
    hull,
    point,
)
from onnxlint_cmsis.graph.model import Node

Curve = Callable[[Interval, Node], Interval]
"""Values of a function. Raises NotFiniteError where one may be NaN or infinite."""
Real = Callable[[float], float]


def number(node: Node, name: str, default: float) -> float:
    """A number among a node's attributes."""
    value = node.attributes.get(name, default)
    return float(value) if isinstance(value, int | float) else math.nan


def _overflowing(function: Real) -> Real:
    """The function with infinity where the result is too large."""

    def computed(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return INFINITY if x > 0 or function is math.cosh else -INFINITY

    return computed


def _rising(function: Real) -> Curve:
    """A function that never falls."""
    return lambda x, _: Interval(function(x.low), function(x.high))


def _growing(function: Real) -> Curve:
    """A function that never falls, and grows so fast that numbers of unknown size may become infinite."""
    safe = _overflowing(function)

    def computed(x: Interval, _node: Node) -> Interval:
        made = Interval(safe(x.low), safe(x.high))
        if not made.bounded:
            raise NotFiniteError("is infinite" if x.is_point else "may be infinite")
        return made

    return computed


def _cosh(x: Interval, node: Node) -> Interval:
    return _growing(math.cosh)(absolute(x, node), node)


def _defined(function: Curve, low: float, high: float, *poles: float) -> Curve:
    """A function that is NaN outside some numbers, and infinite at its poles."""

    def computed(x: Interval, node: Node) -> Interval:
        if x.high < low or x.low > high:
            raise NotFiniteError("is NaN")
        if x.is_point and x.low in poles:
            raise NotFiniteError("is infinite")
        is_outside, is_pole = x.low < low or x.high > high, any(pole in x for pole in poles)
        if is_outside or is_pole:
            words = [word for word, given in (("NaN", is_outside), ("infinite", is_pole)) if given]
            raise NotFiniteError(f"may be {' or '.join(words)}")
        return function(x, node)

    return computed


def _falling(function: Real) -> Curve:
    return lambda x, _: Interval(function(x.high), function(x.low))


def _waving(function: Real) -> Curve:
    """Sine and cosine."""
    return lambda x, _: point(function(x.low)) if x.is_point else Interval(-1.0, 1.0)


def _tan(x: Interval, _node: Node) -> Interval:
    return point(math.tan(x.low)) if x.is_point else ANY


def absolute(x: Interval, _node: Node) -> Interval:
    """Size without the sign."""
    ends = abs(x.low), abs(x.high)
    return Interval(0.0 if 0 in x else min(ends), max(ends))


def gated(x: Interval, _node: Node) -> Interval:
    """Input times something from 0 to 1."""
    return hull(x, ZERO)


def _between(*ends: float) -> Curve:
    """Results in a range, of which no more is known."""
    return lambda _x, _: Interval(*ends)


def _bent(below: Callable[[float, Node], float], above: Callable[[float, Node], float]) -> Curve:
    """One monotone function below 0, another from there on, both 0 at 0."""

    def computed(x: Interval, node: Node) -> Interval:
        made = [_unless_nan(below(end, node) if end < 0 else above(end, node)) for end in x]
        return hull(*map(point, made), *([ZERO] if 0 in x else []))

    return computed


def _unless_nan(value: float) -> float:
    if math.isnan(value):
        raise NotFiniteError("may be NaN or infinite")
    return value


def _times(factor: float, x: float) -> float:
    return 0.0 if factor == 0 else factor * x


def _selu_gamma(node: Node) -> float:
    return number(node, "gamma", 1.0507009873554805)


def _celu(x: float, alpha: float) -> float:
    return alpha * math.expm1(x / alpha) if alpha > 0 else math.nan


def _hard_sigmoid(x: Interval, node: Node) -> Interval:
    alpha, beta = number(node, "alpha", 0.2), number(node, "beta", 0.5)
    ends = [_unless_nan(min(max(_times(alpha, end) + beta, 0.0), 1.0)) for end in x]
    return Interval(min(ends), max(ends))


def _shrink(x: Interval, node: Node) -> Interval:
    bias = abs(number(node, "bias", 0.0))
    return hull(Interval(x.low - bias, x.high + bias), ZERO) if x != ZERO or bias else ZERO


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x))."""
    return 0.5 * (1 + math.tanh(x / 2))


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _sign(x: float) -> float:
    return math.copysign(1.0, x) if x else 0.0


def _softsign(x: float) -> float:
    return x / (1 + abs(x)) if math.isfinite(x) else _sign(x)


def _whole(function: Callable[[float], int]) -> Curve:
    """Rounding to whole numbers."""
    return _rising(lambda x: float(function(x)) if math.isfinite(x) else x)


def _unit(name: str) -> Callable[[float, Node], float]:
    """Slope below 0 by attribute."""
    return lambda x, node: _times(number(node, name, 0.01), x)


def _same(x: float, _node: Node) -> float:
    return x


CURVES: dict[str, Curve] = {
    "Abs": absolute,
    "Acos": _defined(_falling(math.acos), -1.0, 1.0),
    "Acosh": _defined(_rising(math.acosh), 1.0, INFINITY),
    "Asin": _defined(_rising(math.asin), -1.0, 1.0),
    "Asinh": _rising(math.asinh),
    "Atan": _rising(math.atan),
    "Atanh": _defined(_rising(math.atanh), -1.0, 1.0, -1.0, 1.0),
    "Ceil": _whole(math.ceil),
    "Celu": _bent(lambda x, node: _celu(x, number(node, "alpha", 1.0)), _same),
    "Cos": _waving(math.cos),
    "Cosh": _cosh,
    "Elu": _bent(lambda x, node: number(node, "alpha", 1.0) * math.expm1(x), _same),
    "Erf": _rising(math.erf),
    "Exp": _growing(math.exp),
    "Floor": _whole(math.floor),
    "FastGelu": gated,
    "Gelu": gated,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": gated,
    "IsInf": _between(0.0, 1.0),
    "IsNaN": _between(0.0, 1.0),
    "LeakyRelu": _bent(_unit("alpha"), _same),
    "Log": _defined(_rising(math.log), 0.0, INFINITY, 0.0),
    "Mish": gated,
    "Neg": lambda x, _: Interval(-x.high, -x.low),
    "Not": _between(*SHARE),
    "QuickGelu": gated,
    "Reciprocal": _defined(_falling(lambda x: 1 / x), -INFINITY, INFINITY, 0.0),
    "Relu": _rising(lambda x: max(x, 0.0)),
    "Round": _whole(round),
    "Selu": _bent(
        lambda x, node: _selu_gamma(node) * number(node, "alpha", 1.6732632423543772) * math.expm1(x),
        lambda x, node: _times(_selu_gamma(node), x),
    ),
    "Shrink": _shrink,
    "Sigmoid": _rising(sigmoid),
    "Sign": _rising(_sign),
    "Sin": _waving(math.sin),
    "Sinh": _growing(math.sinh),
    "Softplus": _rising(_softplus),
    "Softsign": _rising(_softsign),
    "Sqrt": _defined(_rising(math.sqrt), 0.0, INFINITY),
    "Swish": gated,
    "Tan": _tan,
    "Tanh": _rising(math.tanh),
    "ThresholdedRelu": gated,
}
"""Functions of one variable, by operator."""


EXACT = frozenset(
    {"Abs", "Ceil", "Floor", "IsInf", "IsNaN", "Neg", "Not", "Relu", "Round", "Sign", "ThresholdedRelu"},
)
"""Functions whose intervals need no margin for rounding."""
NEVER_NEGATIVE = frozenset({"Exp", "HardSigmoid", "Sigmoid", "Softplus", "Sqrt"})
"""Functions that no rounding takes below 0."""


def curve(x: Interval, node: Node, rounding: float) -> Interval:
    """Values of a function of `CURVES` as computed. Raises NotFiniteError where one may be NaN or infinite."""
    made = CURVES[node.op_type](x, node)
    if node.op_type in EXACT or x == made == ZERO:
        return made
    least = 0.0 if node.op_type in NEVER_NEGATIVE else -INFINITY
    margins = [rounding * (1 + abs(end)) for end in made]
    return Interval(max(made.low - margins[0], least), made.high + margins[1])


def to_zero_or_more(x: Interval, _node: Node) -> Interval:
    """Sums of sizes and squares."""
    return ZERO if x == ZERO else NONE_BELOW_ZERO
