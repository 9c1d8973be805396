"""Intervals through operators that put tensors together, grow one, limit it or store it otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.interval_axes import level, ranked
from onnxlint_cmsis.model.intervals import Interval, between, hull, point, within
from onnxlint_cmsis.model.regrouping import MAX_CELLS
from onnxlint_cmsis.operators.interval_arithmetic import maximum, minimum
from onnxlint_cmsis.operators.scale_values import in_steps_of_result, real_steps, requantized
from onnxlint_cmsis.operators.views import ValueRule, ValueView, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Floats


WHOLE_EXACT = {"float32": 2.0**24, "float64": 2.0**53}
"""Whole numbers up to which each real type is exact; 256 for the others."""


def same_values(node: Node, view: ValueView) -> Interval | None:
    """The input itself."""
    return view.input(node, 0)


def limited_values(low: float, high: float) -> ValueRule:
    """Numbers limited to a range."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        x = view.input(node, 0)
        return None if x is None else minimum(maximum(x, point(low), 0.0), point(high), 0.0)

    return rule


def clip_values(node: Node, view: ValueView) -> Interval | None:
    """Limits from attributes or from inputs 1 and 2."""
    x = view.input(node, 0)
    low = view.input(node, 1) if node.has(1) else _limit(node, "min", -math.inf)
    high = view.input(node, 2) if node.has(2) else _limit(node, "max", math.inf)
    if x is None or low is None or high is None:
        return None
    return minimum(maximum(x, low, 0.0), high, 0.0)


def _limit(node: Node, name: str, default: float) -> Interval:
    value = real_attribute(node, name, default)
    return between(value, value)


def cast_values(node: Node, view: ValueView) -> Interval | None:
    """To integers towards 0; to a real type by rounding, which whole numbers of some size do not need."""
    x, source, target = view.input(node, 0), view.elem_type(node.inputs[0]), view.made_type(node)
    if x is None or source == target:
        return x
    if target == "bool":
        return within(x, 0.0, 1.0)
    if "int" in target:
        return x.bent(np.trunc)
    margins = [_cast_margin(end, view.rounding(node), WHOLE_EXACT.get(target, 256.0)) for end in x[:2]]
    return x.widened(*margins)


def _cast_margin(end: Floats, rounding: float, exact: float) -> Floats:
    whole = (end == np.trunc(end)) & (np.abs(end) < exact)
    return np.where(whole | ~np.isfinite(end), 0, rounding * np.abs(end))


def lengths_of(node: Node, view: ValueView) -> tuple[int, list[int]] | None:
    """Axis of a concatenation from the front, and the length of each part along it; None where not known."""
    shapes = [view.input_shape(node, position) for position in view.roles(node).data_of(node)]
    ranks = {None if shape is None else len(shape) for shape in shapes}
    rank = ranks.pop() if ranks else None
    axis = view.roles(node).number(node, "axis", 1)
    if ranks or rank is None or not -rank <= axis < rank:
        return None
    lengths = [None if shape is None else shape[axis] for shape in shapes]
    known = [length for length in lengths if length is not None]
    return (axis % rank, known) if len(known) == len(lengths) else None


def concat_values(node: Node, view: ValueView) -> Interval | None:
    """Parts one after the other."""
    parts = [view.part(node, position) for position in view.roles(node).data_of(node)]
    return view.join(parts, lengths_of(node, view))


def quantized_concat(node: Node, view: ValueView) -> Interval | None:
    """Parts in the steps of the result."""
    parts = [_part(node, view, position) for position in view.roles(node).data_of(node)]
    return view.join(parts, lengths_of(node, view))


def _part(node: Node, view: ValueView, position: int) -> Interval | None:
    steps = view.part(node, position)
    real = None if in_steps_of_result(node, view, position) else real_steps(steps, node, view, position)
    if steps is None or real is None:
        return steps
    result = requantized(real, node, view)
    return result if result is not None else steps.forgotten(np.ones(steps.low.shape, bool))


def joined(parts: Sequence[Interval | None], where: tuple[int, list[int]] | None) -> Interval | None:
    """Arrays of all parts, spread out along one axis; None where they are too large or one is not known."""
    known = [part for part in parts if part is not None]
    if where is None or len(known) < len(parts) or not known:
        return None
    axis, lengths = where
    shapes = [(*part.low.shape[:axis], 1, *part.low.shape[axis + 1 :]) for part in known]
    common = np.broadcast_shapes(*shapes)
    if prod(common) * sum(lengths) > MAX_CELLS:
        return None

    def side(bounds: Sequence[np.ndarray]) -> np.ndarray:
        spread = [
            np.broadcast_to(bound, (*common[:axis], length, *common[axis + 1 :]))
            for bound, length in zip(bounds, lengths, strict=True)
        ]
        return np.concatenate(spread, axis=axis)

    fault = next((part.fault for part in known if part.fault is not None), None)
    low = side([part.low for part in known])
    exact = all(part.low is part.high for part in known)
    high = low if exact else side([part.high for part in known])
    return Interval(low, high, side([part.varies for part in known]), fault)


def pads_of(node: Node, view: ValueView) -> list[tuple[int, int]] | None:
    """Elements that Pad adds before and after each axis; None where they are not known or elements are cut."""
    shape, pads, pairs = view.input_shape(node, 0), view.stated(node, "pads"), view.stated(node, "pairs")
    if shape is None or (pads is None and pairs is None):
        return None
    pads = pads if pairs is None else pairs[::2] + pairs[1::2]
    axes = view.stated(node, "axes", range(len(shape)))
    if pads is None or axes is None or len(pads) != 2 * len(axes) or min(pads, default=0) < 0:
        return None
    around = [(0, 0)] * len(shape)
    for element, axis in enumerate(axes):
        if not -len(shape) <= axis < len(shape):
            return None
        around[axis % len(shape)] = pads[element], pads[element + len(axes)]
    return around


def pad_values(node: Node, view: ValueView) -> Interval | None:
    """A constant around; along an axis that is not spread out, only what equals the constant stays one number."""
    x, pads, shape = view.input(node, 0), pads_of(node, view), view.input_shape(node, 0)
    if x is None or shape is None:
        return None
    if node.text("mode", "constant") != "constant":
        return level(x, range(len(shape))) if pads is None else level(x, _grown(pads))
    value = view.scalar(node, 2) if node.has(2) else point(real_attribute(node, "value", 0.0))
    if pads is None:
        return hull(level(x, range(len(shape))), value)
    for axis in _grown(pads):
        spread = prod(x.low.shape[:axis] + x.low.shape[axis + 1 :]) * (sum(pads[axis]) + x.low.shape[axis])
        if x.low.shape[axis] == shape[axis] and spread <= MAX_CELLS:
            x = _around(x, axis, pads[axis], value)
        else:
            x = hull(level(x, [axis]), value)
    return x


def _grown(pads: Sequence[tuple[int, int]]) -> list[int]:
    return [axis for axis, around in enumerate(pads) if any(around)]


def _around(x: Interval, axis: int, around: tuple[int, int], value: Interval) -> Interval:
    """An interval with a number before and after it."""
    widths = [(0, 0)] * x.low.ndim
    widths[axis] = around
    sides = [np.pad(array, widths, constant_values=edge.item()) for array, edge in zip(x[:3], value[:3], strict=True)]
    exact = x.low is x.high and value.low is value.high
    return Interval(sides[0], sides[0] if exact else sides[1], sides[2], x.fault or value.fault)


def expand_values(node: Node, view: ValueView) -> Interval | None:
    """Repeated along axes of size 1."""
    x, shape = view.input(node, 0), view.shape(node.outputs[0])
    return None if x is None or shape is None or len(shape) < x.low.ndim else ranked(x, len(shape))
