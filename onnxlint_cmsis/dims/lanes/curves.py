"""Functions of one variable on bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxlint_cmsis.dims.lanes.facts import real_attribute
from onnxlint_cmsis.dims.lanes.known import SLACK, Known

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats
    from onnxlint_cmsis.graph.model import Node


class Curve(NamedTuple):
    """A function of one variable."""

    value: Callable[[Floats, Node], Floats]
    """The function; its node has the parameters."""
    rounds: float = 0.0
    """Relative and absolute error that an implementation may have, in units of `SLACK`."""
    steep: float = 0.0
    """Greatest slope, for functions that do not keep the order of their arguments."""
    jumps: bool = False
    """Whether bounds next to each other may come out far apart."""


def bent(known: Known, curve_: Curve, node: Node) -> Known:
    """A function of one variable on bounds."""
    made = known.map(lambda bound: curve_.value(bound, node))
    if curve_.steep and made.low is not made.high:
        made = Known(np.minimum(made.low, made.high), np.maximum(made.low, made.high))
        made = made.widened(curve_.steep * (known.high - known.low))
    if curve_.jumps:
        return made.only(made.low == made.high)
    if not curve_.rounds:
        return made
    return made.widened(curve_.rounds * SLACK * np.where(made.zero & known.zero, 0, 1 + np.abs(made.low)))


def _sigmoid(x: Floats, _node: Node) -> Floats:
    made: Floats = 1 / (1 + np.exp(-x))
    return made


def _hard_sigmoid(x: Floats, node: Node) -> Floats:
    return np.minimum(np.maximum(real_attribute(node, "alpha", 0.2) * x + real_attribute(node, "beta", 0.5), 0), 1)


def _leaky(x: Floats, node: Node) -> Floats:
    return np.where(x < 0, x * real_attribute(node, "alpha", 0.01), x)


def _elu(x: Floats, node: Node) -> Floats:
    return np.where(x < 0, real_attribute(node, "alpha", 1.0) * np.expm1(np.minimum(x, 0)), x)


def _erf(x: Floats, _node: Node) -> Floats:
    return np.array([math.erf(value) for value in x.flat]).reshape(x.shape)


def _gelu(x: Floats, node: Node) -> Floats:
    tanh = node.text("approximate", "none") == "tanh"
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if tanh else _erf(x / math.sqrt(2), node)
    made: Floats = 0.5 * x * (1 + bend)
    return made


CURVES: dict[str, Curve] = {
    "Abs": Curve(lambda x, _: np.abs(x), steep=1),
    "Ceil": Curve(lambda x, _: np.ceil(x), jumps=True),
    "Elu": Curve(_elu, 4, steep=10),
    "Erf": Curve(_erf, 4),
    "Exp": Curve(lambda x, _: np.exp(x), 4),
    "Floor": Curve(lambda x, _: np.floor(x), jumps=True),
    "Gelu": Curve(_gelu, 8, steep=2),
    "HardSigmoid": Curve(_hard_sigmoid, 1, steep=10),
    "HardSwish": Curve(lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1), 4, steep=2),
    "LeakyRelu": Curve(_leaky, 1, steep=10),
    "Neg": Curve(lambda x, _: -x, steep=1),
    "Relu": Curve(lambda x, _: np.maximum(x, 0)),
    "Round": Curve(lambda x, _: np.rint(x), jumps=True),
    "Sigmoid": Curve(_sigmoid, 4),
    "Softplus": Curve(lambda x, _: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0), 4),
    "Softsign": Curve(lambda x, _: x / (1 + np.abs(x)), 4),
    "Tanh": Curve(lambda x, _: np.tanh(x), 4),
}
"""Functions of one variable, by operator. Those without `steep` never fall."""
