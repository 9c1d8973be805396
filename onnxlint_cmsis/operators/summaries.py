"""Intervals through operators that take elements along axes together: pools, reductions, resizing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onnxlint_cmsis.model.element_ranges import SLACK
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.interval_axes import level
from onnxlint_cmsis.model.intervals import Fault, Interval, either, finite, hull, interval_of, point
from onnxlint_cmsis.model.window_attributes import padded
from onnxlint_cmsis.operators.curve_values import LOG, bent
from onnxlint_cmsis.operators.scale_values import real_input, requantized
from onnxlint_cmsis.operators.views import ValueRule, ValueView

Summary = Callable[[Interval, "Node", float], Interval]
"""What any number of elements out of an interval give together, given the rounding of the result."""


def mean(x: Interval, _node: Node, rounding: float) -> Interval:
    """Mean of elements."""
    return x.rounded(4 * rounding)


def largest(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Greatest or least of elements."""
    return x


def total(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Sum of one element or more."""
    return interval_of(np.where(x.low < 0, -np.inf, x.low), np.where(x.high > 0, np.inf, x.high), x)


def log_total(x: Interval, node: Node, rounding: float) -> Interval:
    """Logarithm of a sum."""
    return bent(total(x, node, rounding), LOG, node, rounding)


def norm(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Sum of sizes or squares."""
    zero = np.where(np.isnan(x.low), np.nan, 0.0)
    return interval_of(zero, np.where(x.zero, 0.0, zero + np.inf), x)


def product(x: Interval, _node: Node, _rounding: float) -> Interval:
    """Product of unknown length, which is finite where no factor is larger than 1."""
    kept = x.exact & ((x.low == 0) | (x.low == 1))
    low, high = np.where(x.low < 0, -1.0, 0.0), np.ones(x.low.shape)
    result = interval_of(np.where(kept, x.low, low), np.where(kept, x.low, high), x).forgotten(np.isnan(x.low))
    return result.flawed((x.low < -1) | (x.high > 1), Fault("may be infinite"))


def pooled(summary: Summary) -> ValueRule:
    """One number of every window of a plane."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        plane = _plane(node, view, view.input(node, 0))
        if plane is None or not _windows_hold_data(node):
            return None
        return _with_padding(summary(plane, node, view.rounding(node)), node)

    return rule


def quantized_pool(node: Node, view: ValueView) -> Interval | None:
    """Mean of the windows of a quantized plane."""
    plane = None if node.int("channels_last") else _plane(node, view, real_input(node, view, 0))
    if plane is None or not _windows_hold_data(node):
        return None
    return requantized(_with_padding(mean(plane, node, SLACK), node), node, view)


def _plane(node: Node, view: ValueView, x: Interval | None) -> Interval | None:
    """The one interval of each channel."""
    rank = len(view.input_shape(node, 0) or ())
    return None if x is None or rank < 3 else level(x, view.roles(node).plane(rank))


def _with_padding(result: Interval, node: Node) -> Interval:
    """The mean, which may include zeros of the padding."""
    counted = node.int("count_include_pad") and (padded(node) or node.int("ceil_mode"))
    return hull(result, point(0.0)) if counted else result


def _windows_hold_data(node: Node) -> bool:
    """Tell whether every window has an element that is no padding."""
    kernel = node.ints("kernel_shape")
    strides = node.ints("strides") or (1,) * len(kernel)
    if node.int("ceil_mode") and (padded(node) or any(s > k for s, k in zip(strides, kernel, strict=False))):
        return False
    pads = node.ints("pads")
    return not padded(node) or (
        set(node.ints("dilations")) <= {1} and all(pad < size for pad, size in zip(pads, kernel * 2, strict=False))
    )


def reduced_axes(node: Node, view: ValueView) -> list[int] | None:
    """Axes that a Reduce operator takes together; None where they are not known."""
    shape = view.input_shape(node, 0)
    listed = view.stated(node, "axes", ())
    if shape is None or listed is None or not all(-len(shape) <= axis < len(shape) for axis in listed):
        return None
    if not listed and not view.roles(node).number(node, "noop_with_empty_axes"):
        return list(range(len(shape)))
    return sorted({axis % len(shape) for axis in listed})


def reduction(summary: Summary) -> ValueRule:
    """Elements along some axes taken together."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        x, axes = view.input(node, 0), reduced_axes(node, view)
        if x is None or axes is None:
            return None
        result = summary(level(x, axes), node, view.rounding(node))
        keeps = view.roles(node).number(node, "keepdims", 1)
        return result if keeps else result.moved(lambda array: np.squeeze(array, axis=tuple(axes)))

    return rule


def running_total(node: Node, view: ValueView) -> Interval | None:
    """Sums of any number of elements."""
    x = leveled(node, view)
    return None if x is None else hull(total(x, node, 0.0), point(0.0))


def resize_values(node: Node, view: ValueView) -> Interval | None:
    """Between the elements, unless the interpolation overshoots."""
    x, axes = view.input(node, 0), resized_axes(node, view)
    if x is None or axes is None:
        return None
    spread, mode = level(x, axes), node.text("mode", "nearest")
    if mode == "nearest" or not axes:
        return spread
    if mode == "linear":
        return mean(spread, node, view.rounding(node))
    return either(spread.zero, spread, finite(spread))


def resized_axes(node: Node, view: ValueView) -> list[int] | None:
    """Axes along which Resize computes elements; all if unknown; None if values from outside may come in."""
    before, after, scales = view.input_shape(node, 0), view.shape(node.outputs[0]), _scales(node, view)
    odd = node.text("coordinate_transformation_mode").startswith("tf_") or "keep_aspect_ratio_policy" in node.attributes
    if before is None or after is None or len(before) != len(after) or odd:
        return None
    if scales is None:
        return list(range(len(before)))
    return [axis for axis, old in enumerate(before) if old is None or old != after[axis] or scales.get(axis, 1.0) != 1]


def _scales(node: Node, view: ValueView) -> dict[int, float] | None:
    """Scale of each axis that has one, which may be other than 1 though the size stays; None where not known."""
    given = node.attributes.get("scales")
    position = 2 if node.op_type == "Resize" and node.opset >= 11 else 1
    if given is None and node.has(position):
        constant = view.graph.constants.get(node.inputs[position])
        given = None if constant is None or constant.overridable else constant.values()
        if given is None:
            return None
    numbers = [float(scale) for scale in given] if isinstance(given, tuple) else []
    return dict(zip(node.ints("axes") or range(len(numbers)), numbers, strict=False))


def leveled(node: Node, view: ValueView) -> Interval | None:
    """All elements of the first input together, as each may count for each of the result."""
    x = view.input(node, 0)
    return None if x is None else level(x, range(x.low.ndim))


def picked_values(node: Node, view: ValueView) -> Interval | None:
    """Elements from any place."""
    x, after = view.input(node, 0), view.shape(node.outputs[0])
    return None if x is None or after is None or len(after) != x.low.ndim else level(x, range(x.low.ndim))


def tile_values(node: Node, view: ValueView) -> Interval | None:
    """Elements from any place along the axes whose sizes change."""
    x, before, after = view.input(node, 0), view.input_shape(node, 0), view.shape(node.outputs[0])
    if x is None or before is None or after is None or len(after) != len(before):
        return None
    return level(x, [axis for axis, size in enumerate(before) if size is None or size != after[axis]])
