"""Values through operators that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxlint_cmsis.dims.lanes.facts import Facts, has
from onnxlint_cmsis.dims.lanes.known import SLACK, Known

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats, Mask
    from onnxlint_cmsis.onnx_graph.graph import Node

Forward = Callable[["Node", Facts], "Known | None"]
"""What is known of a node's first output; None where nothing is."""


class Curve(NamedTuple):
    """A function of one variable."""

    value: Callable[[Floats, Node], Floats]
    """The function; its node has the parameters."""
    rounds: float = 0.0
    """Relative and absolute error that an implementation may have, in units of `SLACK`."""
    steep: float = 0.0
    """Greatest slope, for functions that do not keep the order of their arguments."""


def curve(node: Node, facts: Facts) -> Known | None:
    """Any function of `CURVES`."""
    known = facts.input(node, 0)
    return None if known is None else bent(known, CURVES[node.op_type], node)


def bent(known: Known, curve_: Curve, node: Node) -> Known:
    """A function of one variable on bounds."""
    made = known.map(lambda bound: curve_.value(bound, node))
    if curve_.steep and made.low is not made.high:
        made = Known(np.minimum(made.low, made.high), np.maximum(made.low, made.high))
        made = made.widened(curve_.steep * (known.high - known.low))
    if not curve_.rounds:
        return made
    return made.widened(curve_.rounds * SLACK * np.where(made.zero & known.zero, 0, 1 + np.abs(made.low)))


def _real(node: Node, name: str, default: float) -> float:
    value = node.attributes.get(name, default)
    return float(value) if isinstance(value, int | float) else math.nan


def _sigmoid(x: Floats, _node: Node) -> Floats:
    made: Floats = 1 / (1 + np.exp(-x))
    return made


def _hard_sigmoid(x: Floats, node: Node) -> Floats:
    return np.minimum(np.maximum(_real(node, "alpha", 0.2) * x + _real(node, "beta", 0.5), 0), 1)


def _leaky(x: Floats, node: Node) -> Floats:
    return np.where(x < 0, x * _real(node, "alpha", 0.01), x)


def _elu(x: Floats, node: Node) -> Floats:
    return np.where(x < 0, _real(node, "alpha", 1.0) * np.expm1(np.minimum(x, 0)), x)


def _erf(x: Floats, _node: Node) -> Floats:
    return np.array([math.erf(value) for value in x.flat]).reshape(x.shape)


def _gelu(x: Floats, node: Node) -> Floats:
    tanh = node.text("approximate", "none") == "tanh"
    bend = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)) if tanh else _erf(x / math.sqrt(2), node)
    made: Floats = 0.5 * x * (1 + bend)
    return made


CURVES: dict[str, Curve] = {
    "Abs": Curve(lambda x, _: np.abs(x), steep=1),
    "Ceil": Curve(lambda x, _: np.ceil(x)),
    "Elu": Curve(_elu, 4, steep=10),
    "Erf": Curve(_erf, 4),
    "Exp": Curve(lambda x, _: np.exp(x), 4),
    "Floor": Curve(lambda x, _: np.floor(x)),
    "Gelu": Curve(_gelu, 8, steep=2),
    "HardSigmoid": Curve(_hard_sigmoid, 1, steep=10),
    "HardSwish": Curve(lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1), 4, steep=2),
    "LeakyRelu": Curve(_leaky, 1, steep=10),
    "Neg": Curve(lambda x, _: -x, steep=1),
    "Relu": Curve(lambda x, _: np.maximum(x, 0)),
    "Round": Curve(lambda x, _: np.rint(x)),
    "Sigmoid": Curve(_sigmoid, 4),
    "Softplus": Curve(lambda x, _: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0), 4),
    "Softsign": Curve(lambda x, _: x / (1 + np.abs(x)), 4),
    "Tanh": Curve(lambda x, _: np.tanh(x), 4),
}
"""Functions of one variable, by operator. Those without `steep` never fall."""


def same(node: Node, facts: Facts) -> Known | None:
    """The input itself."""
    return facts.input(node, 0)


def clip(node: Node, facts: Facts) -> Known | None:
    """Limits from attributes or from inputs 1 and 2."""
    known = facts.input(node, 0)
    low = facts.scalar(node, 1, _real(node, "min", -math.inf))
    high = facts.scalar(node, 2, _real(node, "max", math.inf))
    return (
        None if known is None or math.isnan(low + high) else known.map(lambda x: np.minimum(np.maximum(x, low), high))
    )


def cast(node: Node, facts: Facts) -> Known | None:
    """To integers towards zero; to a real type by rounding, which only large numbers need."""
    known = facts.input(node, 0)
    target = facts.elem_type(node.outputs[0])
    if known is None or target == "bool":
        return None
    if target in ("float32", "float64"):
        return known.only((np.abs(known.low) < 2**24) | (facts.elem_type(node.inputs[0]) == target))
    if "int" not in facts.elem_type(node.inputs[0]):
        return known.map(np.trunc)
    return known


def dropout(node: Node, facts: Facts) -> Known | None:
    """The input, outside training."""
    return None if has(node, 2) or node.opset < 7 else facts.input(node, 0)


def add(left: Known, right: Known, real: bool) -> Known:
    """Sum."""
    made = Known(left.low + right.low, left.high + right.high)
    inexact = np.asarray(real & ~(left.zero | right.zero | made.zero))
    return _rounded(made, np.abs(left.low) + np.abs(right.low), inexact)


def subtract(left: Known, right: Known, real: bool) -> Known:
    """Difference."""
    return add(left, Known(-right.high, -right.low), real)


def multiply(left: Known, right: Known, real: bool) -> Known:
    """Product. Of integers, 0 times anything is 0; of real numbers not, as that may be NaN or infinite."""
    products = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    low, high = np.minimum.reduce(products), np.maximum.reduce(products)
    made = _rounded(Known(low, high), np.abs(low), np.asarray(real))
    if real:
        return made
    zero = left.zero | right.zero
    return Known(np.where(zero, 0, made.low), np.where(zero, 0, made.high))


def divide(left: Known, right: Known, real: bool) -> Known | None:
    """Quotient of real numbers; live where the divisor may be 0."""
    if not real:
        return None
    safe = right.only((right.low > 0) | (right.high < 0))
    return multiply(left, Known(1 / safe.high, 1 / safe.low), real)


def maximum(left: Known, right: Known, _real: bool) -> Known:
    """The larger one."""
    return Known(np.maximum(left.low, right.low), np.maximum(left.high, right.high))


def minimum(left: Known, right: Known, _real: bool) -> Known:
    """The smaller one."""
    return Known(np.minimum(left.low, right.low), np.minimum(left.high, right.high))


def prelu(left: Known, slope: Known, real: bool) -> Known:
    """Times the slope below 0; live where bounds are on both sides of it."""
    scaled = multiply(left, slope, real)
    positive, negative = left.low >= 0, left.high < 0
    made = Known(np.where(positive, left.low, scaled.low), np.where(positive, left.high, scaled.high))
    return made.only(positive | negative)


def _rounded(made: Known, size: Floats, where: Mask) -> Known:
    margin = np.where(where, SLACK * size, 0)
    return made.widened(margin) if margin.any() else made


Combine = Callable[[Known, Known, bool], "Known | None"]

PAIRS: dict[str, Combine] = {
    "Add": add,
    "Div": divide,
    "Max": maximum,
    "Min": minimum,
    "Mul": multiply,
    "PRelu": prelu,
    "Sub": subtract,
    "Sum": add,
}
"""Functions of two variables, or of any number taken two by two."""


def pair(node: Node, facts: Facts) -> Known | None:
    """Any function of `PAIRS`, with broadcasting."""
    operands = [facts.input(node, position) for position in range(len(node.inputs))]
    real = "float" in facts.elem_type(node.outputs[0]) or not facts.elem_type(node.outputs[0])
    made, *rest = operands
    for operand in rest:
        made = None if made is None or operand is None else PAIRS[node.op_type](made, operand, real)
    return None if "broadcast" in node.attributes else made


FORWARD: dict[str, Forward] = {
    **dict.fromkeys(CURVES, curve),
    **dict.fromkeys(PAIRS, pair),
    "Cast": cast,
    "Clip": clip,
    "Dropout": dropout,
    "Identity": same,
}
"""Operators of the default domain that work element by element."""
