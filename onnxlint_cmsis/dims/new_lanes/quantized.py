"""Operators with scales and zero-points, on intervals."""

from __future__ import annotations

from onnxlint_cmsis.dims.new_lanes.curves import curve
from onnxlint_cmsis.dims.new_lanes.interval import (
    ANY,
    INFINITY,
    ZERO,
    Interval,
    hull,
    range_of,
    widened,
)
from onnxlint_cmsis.dims.new_lanes.lanes import NewLanes
from onnxlint_cmsis.dims.new_lanes.pairs import PAIRS, divide, multiply, subtract
from onnxlint_cmsis.graph.model import Node

SLACK = 2.0**-10
"""Relative error of operators that scale in integers."""


def _optional(lanes: NewLanes, position: int) -> Interval:
    """A zero-point, which may be omitted."""
    return lanes.value(position) if lanes.has(position) else ZERO


def real(lanes: NewLanes, position: int) -> Interval:
    """An operand with its scale and zero-point in the two places after it, as real numbers."""
    steps = subtract(lanes.value(position), _optional(lanes, position + 2), 0.0)
    return multiply(steps, lanes.value(position + 1), SLACK)


def requantized(value: Interval, lanes: NewLanes, position: int) -> Interval:
    """Real numbers in the steps of a scale at an input and a zero-point at the next, saturated."""
    scale, limits = lanes.value(position), range_of(lanes.made)
    if value == ZERO:
        steps = ZERO
    elif scale.low > 0:
        steps = widened(divide(value, scale, SLACK), SLACK)
    else:
        return limits
    if steps != ZERO:
        steps = Interval(_rounded(steps.low - SLACK), _rounded(steps.high + SLACK))
    zero = _optional(lanes, position + 1)
    made = Interval(steps.low + zero.low, steps.high + zero.high)
    return Interval(*(min(max(end, limits.low), limits.high) for end in made))


def _rounded(step: float) -> float:
    return float(round(step)) if abs(step) != INFINITY else step


def dequantize(_node: Node, lanes: NewLanes) -> Interval:
    """(x - zero-point) * scale."""
    return real(lanes, 0)


def quantize(_node: Node, lanes: NewLanes) -> Interval:
    """X / scale + zero-point, rounded and saturated."""
    return requantized(lanes.value(0), lanes, 1)


def pair(node: Node, lanes: NewLanes) -> Interval:
    """QLinearAdd, QLinearMul."""
    combine = PAIRS[node.op_type.removeprefix("QLinear")]
    return requantized(combine(real(lanes, 0), real(lanes, 3), SLACK), lanes, 6)


def leaky_relu(_node: Node, lanes: NewLanes) -> Interval:
    """QLinearLeakyRelu: 0 stays 0."""
    return requantized(ZERO if real(lanes, 0) == ZERO else ANY, lanes, 3)


def sigmoid(_node: Node, lanes: NewLanes) -> Interval:
    """QLinearSigmoid."""
    plain = Node(-1, "", "Sigmoid", "", 0, (), ())
    return requantized(curve(real(lanes, 0), plain, SLACK), lanes, 3)


def pooled(_node: Node, lanes: NewLanes) -> Interval:
    """QLinearAveragePool, QLinearGlobalAveragePool; padding is 0."""
    return requantized(hull(real(lanes, 0), ZERO), lanes, 3)


def joined(node: Node, lanes: NewLanes) -> Interval:
    """QLinearConcat: new elements come from the parts that have some."""
    parts = [place for place in range(2, len(node.inputs), 3) if lanes.is_new(place)]
    made = [requantized(_real_part(lanes, place), lanes, 0) for place in parts]
    return hull(*made) if made else range_of(lanes.made)


def _real_part(lanes: NewLanes, place: int) -> Interval:
    steps = subtract(lanes.new(place), _optional(lanes, place + 2), 0.0)
    return multiply(steps, lanes.value(place + 1), SLACK)
