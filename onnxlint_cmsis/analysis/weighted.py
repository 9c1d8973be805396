"""The one form of convolutions and matrix products: groups of rows that sum over columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.element_ranges import SLACK
from onnxlint_cmsis.model.interval_axes import along
from onnxlint_cmsis.model.intervals import exactly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.model.intervals import Floats, Interval, Mask


class Taps(NamedTuple):
    """Weights less their zero-point, as numbers."""

    values: Floats
    """NaN where not known."""
    slack: Floats | None
    """Their own rounding, of the same shape, where they are not exact."""


class LaneWeights:
    """Weights of one layer."""

    def __init__(self, nonzero: Mask, read: Callable[[], Taps]) -> None:
        """`read` makes the numbers, which takes a float64 for each."""
        self.nonzero = nonzero
        """Which may be other than 0, of the shape of the weights."""
        self._read = read

    @cached_property
    def taps(self) -> Taps:
        """The numbers, of the same shape."""
        return self._read()

    @cached_property
    def touched(self) -> Mask:
        """Mask of the elements with a non-zero along the last axis."""
        return np.asarray(self.nonzero[..., 0] if self.nonzero.shape[-1] == 1 else self.nonzero.any(axis=-1))

    def turned(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> LaneWeights:
        """Weights in another order or under another shape."""

        def read() -> Taps:
            values, slack = self.taps
            return Taps(function(values), None if slack is None else function(slack))

        return LaneWeights(function(self.nonzero), read)


class Weighted(NamedTuple):
    """A node that sums its data along one axis with constant weights."""

    node: int
    """`Node.index`."""
    data: int
    """Input that holds the data."""
    weights: int
    """Input that holds the weights."""
    axis: int
    """Axis of the data that is summed, [groups x columns] long."""
    output_axis: int
    """Axis of the result, [groups x rows] long, both counted from the front."""
    mixing: bool
    """Whether the result has other channels than the data; False for a depthwise convolution."""
    plain: bool
    """Whether every element of the result sees all taps, so that a constant gives one value everywhere."""
    zero: Floats
    """Zero-point of the data."""
    matrix: LaneWeights
    """The weights, [groups, rows, columns, taps]."""
    real: bool
    """Whether the sum is computed in float."""
    factor: float = 1.0
    """Number the sum is multiplied by before the bias is added."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Groups, rows, columns and taps."""
        groups, rows, columns, taps = self.matrix.nonzero.shape
        return groups, rows, columns, taps

    @property
    def touched(self) -> Mask:
        """Mask of the columns that each row reads, [groups, rows, columns]."""
        return self.matrix.touched

    @property
    def taps(self) -> Taps:
        """Weights as numbers less their zero-point, [groups, rows, columns, taps]."""
        return self.matrix.taps

    def columns(self, data: Interval) -> Interval:
        """Constants along the summed axis less the zero-point, [groups, columns]; unknown where not one value."""
        line = along(data, self.axis)
        shape = self.shape[0], self.shape[2]
        spread = line.forgotten(line.varies).bent(lambda bound: bound - self.zero)
        return spread.moved(lambda array: np.broadcast_to(array, shape[0] * shape[1]).reshape(shape))


TERMS = 16
"""Terms after which the rounding of a float32 sum can exceed `SLACK` of their sizes."""


def sums(weighted: Weighted, columns: Interval) -> Interval | None:
    """Sum of each row over columns, [groups x rows]; unknown where a row reads unknowns or differs at borders.

    None where every row does, as in most layers: then no weight is read.
    """
    usable = columns.zero | (~columns.varies & weighted.plain)
    unknown = weighted.touched & ~usable[:, None, :] if usable.any() else weighted.touched
    fine = ~unknown.any(axis=2)
    if fine.any():
        fine &= ~np.isnan(weighted.taps.values).any(axis=(2, 3))
    if not fine.any():
        return None
    middle = np.where(usable, (columns.low + columns.high) / 2, 0)
    values, slack = weighted.taps
    weights = np.where(np.isnan(values), 0, values)
    total = _times(weights.sum(axis=3), middle)
    result = exactly(np.where(fine, total, np.nan).reshape(-1) * weighted.factor)
    if not weighted.real or not middle.any():
        return result
    spread = np.where(usable, (columns.high - columns.low) / 2, 0)
    size = np.abs(weights).sum(axis=3)
    terms = np.count_nonzero(middle) * weights.shape[3]
    margin = _times(size, spread + np.abs(middle) * SLACK * (1 + terms / TERMS))
    if slack is not None:
        margin = margin + _times(slack.sum(axis=3), np.abs(middle) + spread)
    return result.widened(margin.reshape(-1) * abs(weighted.factor))


def _times(weights: Floats, columns: Floats) -> Floats:
    result: Floats = np.matmul(weights, columns[:, :, None])[:, :, 0]
    return result
