"""Intervals of the elements of a tensor along regrouped axes, and faults that may make an element NaN or infinite.

Arrays have the tensor's rank; an axis along which nothing differs has length 1 whatever its size, so that a plane or
a batch of any size costs nothing. All numbers are float64, which holds float32 and integers to 2**53 exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class Fault(NamedTuple):
    """Why some element may be NaN or infinite."""

    outcome: str
    """`is NaN`, `may be infinite`, ... ."""
    held: Interval | None = None
    """Values of the operand that causes it; None where the first operand causes it."""
    divides: bool = False
    """Whether that operand is a divisor."""


class Interval(NamedTuple):
    """Least and greatest number that each element may be; the three arrays have one shape.

    An infinite end means finite numbers of any size. NaN at both ends means that nothing is known: the element may
    be NaN or infinite.
    """

    low: Floats
    """Least."""
    high: Floats
    """Greatest; the very same array where every element is one exact number."""
    varies: Mask
    """Where the value may differ between inputs or between the elements that share a cell, by more than rounding."""
    fault: Fault | None = None
    """Why the first element that may be NaN or infinite is so; None where every element stays finite if inputs do."""

    @property
    def exact(self) -> Mask:
        """Where it is one number."""
        return np.asarray(self.low == self.high)

    @property
    def zero(self) -> Mask:
        """Where it is exactly 0."""
        return np.asarray((self.low == 0) & (self.high == 0))

    @property
    def bounded(self) -> Mask:
        """Where both ends are known."""
        return np.asarray(np.isfinite(self.low) & np.isfinite(self.high))

    def holds(self, number: float) -> Mask:
        """Where a number may be meant."""
        return np.asarray((self.low <= number) & (number <= self.high))

    def moved(self, function: Callable[[NDArray[Any]], NDArray[Any]]) -> Interval:
        """The elements moved: picked, transposed or reshaped."""
        low = function(self.low)
        high = low if self.high is self.low else function(self.high)
        return Interval(low, high, function(self.varies), self.fault)

    def bent(self, function: Callable[[Floats], Floats]) -> Interval:
        """Both ends through one function that never falls and rounds nothing."""
        low = function(self.low)
        return interval_of(low, low if self.high is self.low else function(self.high), self)

    def widened(self, below: Floats | float, above: Floats | float | None = None) -> Interval:
        """Ends further apart by a margin on either side; the interval itself where the margins are 0."""
        above = below if above is None else above
        if not np.any(below) and not np.any(above):
            return self
        return interval_of(self.low - below, self.high + above, self)

    def rounded(self, share: float) -> Interval:
        """Ends further apart by a share of their size; 0 stays 0."""
        return self.widened(_margin(share, self.low), _margin(share, self.high)) if share else self

    def unsettled(self, where: Mask) -> Interval:
        """The interval with elements marked that may differ by more than rounding."""
        return Interval(self.low, self.high, np.asarray(self.varies | where), self.fault)

    def forgotten(self, where: Mask) -> Interval:
        """Nothing known at some elements."""
        if not where.any():
            return self
        low = np.where(where, np.nan, self.low)
        high = low if self.high is self.low else np.where(where, np.nan, self.high)
        return Interval(low, high, np.asarray(self.varies | where), self.fault)

    def flawed(self, where: Mask, fault: Fault) -> Interval:
        """Elements that may be NaN or infinite, with the reason; one that is there stays."""
        if not where.any():
            return self
        return self.forgotten(where)._replace(fault=self.fault or fault)


def _margin(share: float, end: Floats) -> Floats:
    return np.where(np.isfinite(end), share * np.abs(end), 0)


def interval_of(low: Floats, high: Floats, *sources: Interval) -> Interval:
    """Result interval of an operator: it varies where an operand varies, unless it is one number."""
    unknown = np.asarray(np.isnan(low))
    for source in sources:
        unknown = unknown | source.varies
    if low is high and not unknown.any():
        return Interval(low, high, unknown, _first_fault(sources))
    if low is not high and not low.shape == high.shape == unknown.shape:
        low, high, unknown = np.broadcast_arrays(low, high, unknown)
    return Interval(low, high, np.asarray(unknown & ~(low == high)), _first_fault(sources))


def _first_fault(sources: tuple[Interval, ...]) -> Fault | None:
    return next((source.fault for source in sources if source.fault is not None), None)


def exactly(values: Floats) -> Interval:
    """Numbers known exactly; of NaN and infinities nothing is known."""
    finite = np.asarray(np.isfinite(values))
    values = values if finite.all() else np.where(finite, values, np.nan)
    return Interval(values, values, ~finite)


def point(value: float) -> Interval:
    """One number, of rank 0."""
    return exactly(np.asarray(value, np.float64))


def between(low: float, high: float) -> Interval:
    """Any finite numbers from one to another, of rank 0."""
    least = np.asarray(low, np.float64)
    return Interval(least, least if low == high else np.asarray(high, np.float64), np.asarray(low != high))


def unknown(rank: int) -> Interval:
    """Nothing known of a tensor."""
    return exactly(np.full((1,) * rank, np.nan))


def hull(*intervals: Interval) -> Interval:
    """Any number of any of the intervals."""
    low = np.minimum.reduce(np.broadcast_arrays(*(interval.low for interval in intervals)))
    high = np.maximum.reduce(np.broadcast_arrays(*(interval.high for interval in intervals)))
    return Interval(low, high, ~np.asarray(low == high), _first_fault(intervals))


def either(where: Mask, first: Interval, second: Interval) -> Interval:
    """One interval where a mask holds, another elsewhere."""
    low, high = np.where(where, first.low, second.low), np.where(where, first.high, second.high)
    return Interval(low, high, np.where(where, first.varies, second.varies), first.fault or second.fault)


def negative(interval: Interval) -> Interval:
    """The interval with the other sign."""
    low = -interval.high
    return interval_of(low, low if interval.low is interval.high else -interval.low, interval)


def finite(interval: Interval) -> Interval:
    """Any finite number, except where the interval is unknown."""
    low = np.where(np.isnan(interval.low), np.nan, -np.inf)
    return interval_of(low, -low, interval).unsettled(np.ones(low.shape, bool))


def within(interval: Interval, low: float, high: float) -> Interval:
    """Any number from one to another, except where the interval is unknown."""
    nothing = np.where(np.isnan(interval.low), np.nan, 0.0)
    return Interval(nothing + low, nothing + high, np.ones(nothing.shape, bool), interval.fault)


def interval_text(interval: Interval) -> str:
    """All elements for a person, as the values a lane `holds`."""
    low, high = float(np.min(interval.low)), float(np.max(interval.high))
    if np.isfinite(low) and np.isfinite(high):
        if low == high:
            return f"which holds {low:g}"
        if high - low <= 1e-3 * max(abs(low), abs(high)):
            return f"which holds about {(low + high) / 2:.4g}"
        return f"which holds {low:.4g} to {high:.4g}"
    if np.isfinite(low):
        return f"which holds {low:.4g} or more"
    return f"which holds {high:.4g} or less" if np.isfinite(high) else "whose value is not known"
