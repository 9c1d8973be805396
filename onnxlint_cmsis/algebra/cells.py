"""Which lane of a class each index of an axis belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.axes import Axis, AxisForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.algebra.interval import Mask

    Rows = list[NDArray[np.int64]]


def lane_rows(axis: Axis, leaf: int) -> Rows:
    """For each index the lane of the leaf, -1 where there is none; several rows where the leaf is several factors.

    Raises ValueError where a size is symbolic.
    """
    if axis.size is None:
        raise ValueError("the axis has a symbolic size, so its indices are not known")
    if axis.form is AxisForm.LEAF:
        return [np.arange(axis.size)] if axis.leaf == leaf else []
    parts = [(lane_rows(part, leaf), part.size or 0) for part in axis.parts]
    if axis.form is AxisForm.CONCAT:
        depth = max(len(rows) for rows, _ in parts)
        padded = [[*rows, *[np.full(size, -1)] * (depth - len(rows))] for rows, size in parts]
        return [np.concatenate([rows[place] for rows in padded]) for place in range(depth)]
    found: Rows = []
    outer = 1
    for rows, size in parts:
        inner = axis.size // (outer * size) if size else 0
        found += [np.tile(np.repeat(row, inner), outer) for row in rows]
        outer *= size
    return found


def any_lane(axis: Axis, leaf: int, count: int, mask: Mask) -> Mask:
    """For each lane, whether the mask holds at any index where it sits; all where sizes contradict each other.

    Raises ValueError where a size is symbolic.
    """
    if axis.form is AxisForm.LEAF and axis.leaf == leaf and axis.size == count == len(mask):
        return mask
    made = np.zeros(count, bool)
    for row in lane_rows(axis, leaf):
        if len(row) != axis.size or len(mask) not in (1, axis.size) or row.max(initial=-1) >= count:
            return np.ones(count, bool)
        made[row[(row >= 0) & mask]] = True
    return made


def indices_of(axis: Axis, leaf: int, lanes: Mask) -> Mask:
    """For each index, whether it belongs to one of the lanes."""
    made = np.zeros(axis.size or 0, bool)
    for row in lane_rows(axis, leaf):
        made |= (row >= 0) & lanes[row]
    return made
