"""Arrays along a tensor that is regrouped or picked from; only axes that differ are spread out."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.ground.types import Size

    Array = NDArray[Any]
    Mask = NDArray[np.bool_]


MAX_CELLS = 2**22
"""Elements to which an array may be spread out."""


def regrouped(array: Array, before: Sequence[Size], after: Sequence[Size]) -> Array | None:
    """The array of a tensor whose axes are regrouped; only blocks of axes that differ are spread out.

    None where a size that matters is symbolic or the array would get too large.
    """
    shape: list[int] = []
    target: list[int] = []
    for old, new in _blocks(before, after):
        stored = [array.shape[axis] for axis in old]
        sizes = [before[axis] for axis in old]
        same = [after[axis] for axis in new] == sizes
        if same or all(length == 1 for length in stored):
            shape += stored
            target += stored if same else [1] * len(new)
        elif None in sizes or any(after[axis] is None for axis in new):
            return None
        else:
            shape += [size or 0 for size in sizes]
            target += [after[axis] or 0 for axis in new]
    if prod(shape) > MAX_CELLS or prod(shape) != prod(target):
        return None
    return np.broadcast_to(array, shape).reshape(target)


def _blocks(before: Sequence[Size], after: Sequence[Size]) -> list[tuple[range, range]]:
    """Smallest runs of axes on both sides that hold the same elements; the last run takes the rest."""
    blocks: list[tuple[range, range]] = []
    first = second = 0
    while first < len(before) and second < len(after):
        start = first, second
        left, right = before[first], after[second]
        first, second = first + 1, second + 1
        while left is not None and right is not None and left != right:
            if left < right and first < len(before) and before[first] is not None:
                left, first = left * (before[first] or 0), first + 1
            elif right < left and second < len(after) and after[second] is not None:
                right, second = right * (after[second] or 0), second + 1
            else:
                break
        if left != right:
            first, second = len(before), len(after)
        blocks.append((range(start[0], first), range(start[1], second)))
    if first < len(before) or second < len(after):
        blocks.append((range(first, len(before)), range(second, len(after))))
    return blocks


def taken(array: Array, axis: int, indices: Array) -> Array:
    """Elements picked along an axis. Raises ValueError where they are too many to be held."""
    if array.shape[axis] == 1 and len(indices):
        return array
    _check_cells((*array.shape[:axis], len(indices), *array.shape[axis + 1 :]))
    return np.take(array, indices, axis)


def put(mask: Array, axis: int, indices: Array, size: int) -> Array:
    """Mask of the tensor that elements were picked from. Raises ValueError where it is too large to be held."""
    shape = (*mask.shape[:axis], size, *mask.shape[axis + 1 :])
    _check_cells(shape)
    whole = np.zeros(shape, bool)
    index: list[Any] = [slice(None)] * mask.ndim
    index[axis] = indices
    whole[tuple(index)] = mask
    return whole


def _check_cells(shape: Sequence[int]) -> None:
    if prod(shape) > MAX_CELLS:
        raise ValueError(f"an array of {prod(shape)} elements; allowed are {MAX_CELLS}")
