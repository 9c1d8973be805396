"""Intervals along the axes of a tensor: levelled, laid out, and taken along one axis; masks likewise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.intervals import Interval, exactly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.ground.types import Size

    Mask = NDArray[np.bool_]


MAX_ELEMENTS = 2**24
"""Elements of an array; of a tensor that needs a larger one nothing is known."""


def fits(*shapes: Sequence[int]) -> bool:
    """Tell whether arrays broadcast with each other to one within the size limit."""
    return prod(np.broadcast_shapes(*map(tuple, shapes))) <= MAX_ELEMENTS


def level(interval: Interval, axes: Sequence[int]) -> Interval:
    """Any number along some axes, which stay with length 1; it varies where there are several.

    Nothing is known along an axis of size 0.
    """
    over = tuple(axes)
    if all(interval.low.shape[axis] == 1 for axis in over):
        return interval
    if any(interval.low.shape[axis] == 0 for axis in over):
        return exactly(np.full([1 if axis in over else size for axis, size in enumerate(interval.low.shape)], np.nan))
    low, high = interval.low.min(axis=over, keepdims=True), interval.high.max(axis=over, keepdims=True)
    same = low == interval.low.max(axis=over, keepdims=True)
    same &= high == interval.high.min(axis=over, keepdims=True)
    varies = interval.varies.any(axis=over, keepdims=True) | ~same
    return Interval(low, low if interval.low is interval.high and same.all() else high, varies, interval.fault)


def along(interval: Interval, axis: int) -> Interval:
    """Numbers along one axis as a vector, of length 1 or the axis' size."""
    flat = level(interval, [other for other in range(interval.low.ndim) if other != axis])
    return flat.moved(lambda array: array.reshape(-1))


def lay(interval: Interval, axis: int, rank: int) -> Interval:
    """A vector along one axis of a tensor."""
    return interval.moved(lambda array: array.reshape([-1 if other == axis else 1 for other in range(rank)]))


def ranked(interval: Interval, rank: int) -> Interval:
    """An interval with axes of length 1 put in front."""
    return interval.moved(lambda array: array.reshape((1,) * (rank - array.ndim) + array.shape))


def reduced(mask: Mask, shape: Sequence[Size]) -> Mask:
    """Mask of an operand from that of the broadcast result: any along the axes that the operand repeats."""
    mask = anywhere(mask, range(max(mask.ndim - len(shape), 0)), keep=False)
    if mask.ndim < len(shape):
        mask = mask.reshape((1,) * (len(shape) - mask.ndim) + mask.shape)
    return anywhere(mask, [axis for axis, size in enumerate(shape) if size == 1])


def anywhere(mask: Mask, axes: Iterable[int], keep: bool = True) -> Mask:
    """Tell whether any element along some axes, which stay with length 1 or go."""
    return np.asarray(mask.any(axis=tuple(axes), keepdims=keep))
