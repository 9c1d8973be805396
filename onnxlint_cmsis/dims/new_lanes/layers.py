"""New lanes of layers: weights of 0 leave the bias, in the steps of the result where it is quantized."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxlint_cmsis.dims.fills import NotFilledError, check_weights
from onnxlint_cmsis.dims.new_lanes.curves import CURVES, number
from onnxlint_cmsis.dims.new_lanes.interval import ANY, ZERO, Interval, NotFiniteError, hull, point, range_of, widened
from onnxlint_cmsis.dims.new_lanes.lanes import Leaves, NewLanes
from onnxlint_cmsis.dims.new_lanes.pairs import add, divide, multiply, subtract
from onnxlint_cmsis.graph.model import Node

Row = Callable[[Node, NewLanes], Interval]
"""What the new elements of a node's output hold. Raises NotFiniteError where one may be NaN or infinite."""

PLAIN_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh")
"""Fused activations without parameters."""


class Layer(NamedTuple):
    """Where a layer has its data, bias, and the zero-point of its result."""

    data: tuple[int, ...] = (0, 1)
    """Inputs that may be the data."""
    bias: int = 2
    """Bias or summand; -1 for none."""
    zero: int = -1
    """Zero-point of the result; -1 for none."""
    summand: int = -1
    """A further summand of the result's shape."""


def layer(node: Node, lanes: NewLanes) -> Interval:
    """The bias where the weights are 0, or where the data are; anything elsewhere."""
    places = LAYERS[node.domain, node.op_type]
    if not _is_nothing(node, lanes, places):
        return range_of(lanes.made)
    made = lanes.value(places.bias) if places.bias >= 0 and lanes.has(places.bias) else ZERO
    made = multiply(made, point(number(node, "beta", 1.0)), lanes.rounding) if "beta" in node.attributes else made
    if places.zero >= 0 and lanes.has(places.zero):
        return lanes.value(places.zero) if made == ZERO else range_of(lanes.made)
    if places.summand >= 0 and lanes.has(places.summand):
        made = add(made, lanes.value(places.summand), lanes.rounding)
    return _activated(made, node)


def _is_nothing(node: Node, lanes: NewLanes, places: Layer) -> bool:
    """Whether the products of new elements sum up to 0."""
    rows = _decided(node, lanes)
    data = [place for place in places.data if not lanes.constants.constant(node.inputs[place])]
    if lanes.wanted <= rows:
        return True
    return len(data) == 1 and lanes.all_new(rows, data[0]) and _real_zero(node, lanes, data[0])


def _decided(node: Node, lanes: NewLanes) -> Leaves:
    """Leaves that the layer's constant weights decide, if their new elements are 0."""
    try:
        check_weights(lanes.constants, node)
    except NotFilledError:
        return frozenset()
    return lanes.growing(lanes.decided.get(node.index, ()))


def _real_zero(node: Node, lanes: NewLanes, data: int) -> bool:
    """Whether new elements of real data are 0."""
    return node.op_type in ("Conv", "Gemm", "MatMul") and lanes.is_new(data) and lanes.new(data) == ZERO


def _activated(made: Interval, node: Node) -> Interval:
    activation = node.text("activation")
    if not activation:
        return made
    return CURVES[activation](made, node) if activation in PLAIN_ACTIVATIONS else ANY


def batch_normalization(node: Node, lanes: NewLanes) -> Interval:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    x, scale, bias, mean, variance = (lanes.value(place) for place in range(5))
    epsilon = number(node, "epsilon", 1e-5)
    low = variance.low + epsilon
    if not low > 0:
        raise NotFiniteError("may be NaN or infinite", variance)
    root = Interval(low**0.5, (variance.high + epsilon) ** 0.5)
    factor = divide(scale, root, lanes.rounding)
    return add(multiply(subtract(x, mean, lanes.rounding), factor, lanes.rounding), bias, lanes.rounding)


def normalization(node: Node, _lanes: NewLanes) -> Interval:
    """Over a plane or other axes; elements that are all the same have variance 0."""
    if number(node, "epsilon", 1e-5) <= 0:
        raise NotFiniteError("may be NaN")
    return ANY


def mean_variance(_node: Node, _lanes: NewLanes) -> Interval:
    """Divided by the deviation, which is 0 where all elements are the same, as those of a new lane mostly are."""
    raise NotFiniteError("may be NaN")


def average_pool(node: Node, lanes: NewLanes) -> Interval:
    """A mean, of padding too where that counts."""
    value = widened(lanes.value(0), lanes.rounding)
    return hull(value, ZERO) if node.int("count_include_pad") else value


LAYERS: dict[tuple[str, str], Layer] = {
    ("", "Conv"): Layer((0,)),
    ("", "ConvInteger"): Layer((0,), bias=-1),
    ("", "ConvTranspose"): Layer((0,)),
    ("", "Gemm"): Layer(),
    ("", "MatMul"): Layer(bias=-1),
    ("", "MatMulInteger"): Layer(bias=-1),
    ("", "QLinearConv"): Layer((0,), bias=8, zero=7),
    ("", "QLinearMatMul"): Layer((0, 3), bias=-1, zero=7),
    ("com.microsoft", "DynamicQuantizeMatMul"): Layer((0,), bias=4),
    ("com.microsoft", "FusedConv"): Layer((0,), summand=3),
    ("com.microsoft", "FusedGemm"): Layer(),
    ("com.microsoft", "MatMulIntegerToFloat"): Layer(bias=6),
    ("com.microsoft", "QGemm"): Layer((0, 3), bias=6, zero=8),
    ("com.microsoft", "QLinearConv"): Layer((0,), bias=8, zero=7),
}
"""Operators that sum with constant weights."""
