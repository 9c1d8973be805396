"""What is known of the elements of a tensor: bounds of a value that is the same for every input, or nothing.

Arrays have the tensor's rank; an axis along which nothing differs has length 1 whatever its size, so that a plane
or a batch of any size costs nothing. All numbers are float64, which holds float32 and integers to 2**53 exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.types import Size

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

SLACK = 2.0**-20
"""Relative error allowed to each float operation: sixteen times that of float32, for other orders and fused forms."""


class Known(NamedTuple):
    """Lowest and highest value each element can have by rounding; NaN in both where it is live."""

    low: Floats
    """Lower bounds."""
    high: Floats
    """Upper bounds; the very same array where every known value is exact."""

    @property
    def zero(self) -> Mask:
        """Where the value is exactly 0."""
        return np.asarray((self.low == 0) & (self.high == 0))

    @property
    def live(self) -> Mask:
        """Where nothing is known."""
        return np.asarray(np.isnan(self.low))

    def map(self, function: Callable[[Floats], Floats]) -> Known:
        """Both bounds through one function that keeps their order and has no rounding of its own."""
        low = function(self.low)
        return Known(low, low if self.high is self.low else function(self.high))

    def widened(self, margin: Floats) -> Known:
        """Bounds further apart by the margin on either side."""
        return Known(self.low - margin, self.high + margin)

    def only(self, wanted: Mask) -> Known:
        """Live where not wanted."""
        return self.map(lambda bound: np.where(wanted, bound, np.nan))


def exactly(values: Floats) -> Known:
    """Values known exactly; NaN and infinities are live."""
    finite = np.isfinite(values)
    values = values if finite.all() else np.where(finite, values, np.nan)
    return Known(values, values)


def all_live(rank: int) -> Known:
    """Nothing known of a tensor."""
    return exactly(np.full((1,) * rank, np.nan))


def level(known: Known, axes: Sequence[int]) -> Known:
    """The one value along some axes, which stay with length 1; live where there are several."""
    if all(known.low.shape[axis] == 1 for axis in axes):
        return known
    over = tuple(axes)
    same = known.low.max(axis=over, keepdims=True) == known.low.min(axis=over, keepdims=True)
    same &= known.high.max(axis=over, keepdims=True) == known.high.min(axis=over, keepdims=True)
    return known.map(lambda bound: np.where(same, bound.max(axis=over, keepdims=True), np.nan))


def along(known: Known, axis: int) -> Known:
    """Values along one axis as a vector, live where they differ along any other; of length 1 or the axis' size."""
    flat = level(known, [place for place in range(known.low.ndim) if place != axis])
    return flat.map(lambda bound: bound.reshape(-1))


def lay(known: Known, axis: int, rank: int) -> Known:
    """A vector along one axis of a tensor."""
    return known.map(lambda bound: bound.reshape([-1 if place == axis else 1 for place in range(rank)]))


def reduced(mask: Mask, shape: Sequence[Size]) -> Mask:
    """A mask of a broadcast result as that of an operand: any element along the axes that the operand repeats."""
    mask = anywhere(mask, range(max(mask.ndim - len(shape), 0)), keep=False)
    if mask.ndim < len(shape):
        mask = mask.reshape((1,) * (len(shape) - mask.ndim) + mask.shape)
    return anywhere(mask, [axis for axis, size in enumerate(shape) if size == 1])


def anywhere(mask: Mask, axes: Iterable[int], keep: bool = True) -> Mask:
    """Whether any element along some axes, which stay with length 1 or go."""
    return np.asarray(mask.any(axis=tuple(axes), keepdims=keep))
