"""Which lane of a class each index of an axis belongs to."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.axes import Axis, AxisForm, leaves
from onnxlint_cmsis.model.interval_axes import anywhere

if TYPE_CHECKING:
    from onnxlint_cmsis.model.intervals import Mask


def any_lane(axis: Axis, leaf: int, count: int, mask: Mask) -> Mask:
    """For each lane, whether the mask holds at any index where it sits; all where sizes contradict each other.

    The mask has one element for each index, or one for all. Only the parts of the axis that have the leaf are looked
    at. Raises ValueError where a size is symbolic.
    """
    if not axis.indexed:
        raise ValueError("the axis has a symbolic size, so its indices are not known")
    held_by_lane = np.zeros(count, bool)
    pending = [(axis, mask)]
    while pending:
        part, held = pending.pop()
        if leaf not in leaves(part):
            continue
        sizes = [inner.size or 0 for inner in part.parts]
        if len(held) not in (1, part.size) or part.size != _elements(part, sizes) or part.size < 0:
            return np.ones(count, bool)
        if part.form is AxisForm.LEAF:
            if part.size > count:
                return np.ones(count, bool)
            held_by_lane[: part.size] |= held
        elif len(held) == 1:
            pending += [(inner, held) for inner in part.parts]
        elif part.form is AxisForm.CONCAT:
            ends = accumulate(sizes)
            pending += [
                (inner, held[end - size : end]) for inner, size, end in zip(part.parts, sizes, ends, strict=True)
            ]
        else:
            grid, factors = held.reshape(sizes), range(len(sizes))
            for position, inner in enumerate(part.parts):
                pending.append((inner, anywhere(grid, [other for other in factors if other != position], keep=False)))
    return held_by_lane


def _elements(axis: Axis, sizes: list[int]) -> int:
    """Elements that the parts of an axis have together."""
    if axis.form is AxisForm.LEAF:
        return axis.size or 0
    return sum(sizes) if axis.form is AxisForm.CONCAT else prod(sizes)


def indices_of(axis: Axis, leaf: int, lanes: Mask) -> Mask:
    """For each index, whether it belongs to one of the lanes. Raises ValueError where a size is symbolic."""
    if axis.size is None:
        raise ValueError("the axis has a symbolic size, so its indices are not known")
    if axis.form is AxisForm.LEAF:
        return lanes[: axis.size] if axis.leaf == leaf else np.zeros(axis.size, bool)
    parts = [indices_of(part, leaf, lanes) for part in axis.parts]
    if axis.form is AxisForm.CONCAT:
        return np.concatenate(parts)
    return reduce(lambda outer, inner: (outer[:, None] | inner).reshape(-1), parts)
