"""Intervals of the elements of a tensor along regrouped axes, and faults that may make an element NaN or infinite."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.ground.types import Size


# Arrays have the tensor's rank; an axis along which nothing differs has length 1 whatever its size, so that a plane or
# a batch of any size costs nothing. All numbers are float64, which holds float32 and integers to 2**53 exactly.


if TYPE_CHECKING:
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
    low, high, unknown = np.broadcast_arrays(low, high, unknown) if low is not high else (low, low, unknown)
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


# Ranges and rounding errors of element types, and intervals stored in a type.


EXACT_INT = 2.0**53
"""Integers from here on do not fit a float64."""
LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4028234e38, "float64": 1.797e308}
"""Largest finite number of each real type."""
SMALLEST = {"float16": 6.2e-5, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float64": 2.3e-308}
"""Smallest number of full accuracy of each real type; what is smaller may become 0."""
ROUNDING = {"float32": 2.0**-20, "float64": 2.0**-20, "float16": 2.0**-7, "bfloat16": 2.0**-5}
"""Relative error allowed to each operation: several times that of the type, for other orders and fused forms."""
SLACK = ROUNDING["float32"]
"""Relative error of float32."""
FOLLOWED = ("float32", "float64")
"""Real types whose constants are followed through rounding; of the shorter ones only zeros are."""
WIDE = 2.0**-6
"""Ends further apart than this share of their size do not tell a value."""


def is_whole(elem_type: str) -> bool:
    """Whether a type holds integers or truth values."""
    return "int" in elem_type or elem_type == "bool"


def rounding(elem_type: str) -> float:
    """Relative error of a result of a type; that of the coarsest where the type is not known."""
    return 0.0 if "int" in elem_type else ROUNDING.get(elem_type, ROUNDING["bfloat16"])


def limits(elem_type: str) -> tuple[float, float]:
    """Least and greatest number of a type; infinite for real ones."""
    if elem_type == "bool":
        return 0.0, 1.0
    digits = elem_type.removeprefix("u").removeprefix("int")
    if not digits.isdecimal():  # quint2x4 of `.pte` files among them
        return -np.inf, np.inf
    bits = int(digits)
    return (0.0, 2.0**bits - 1) if elem_type.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def range_of(elem_type: str) -> Interval:
    """Any finite number of a type."""
    return between(*limits(elem_type))


def as_stored(computed: Interval, elem_type: str) -> Interval:
    """A result stored in its type: integers that overflow may be any, reals that overflow are faults."""
    return _whole(computed, elem_type) if is_whole(elem_type) else _real(computed, elem_type)


def _whole(computed: Interval, elem_type: str) -> Interval:
    least, most = limits(elem_type)
    fits = (computed.low >= max(least, -EXACT_INT)) & (computed.high <= min(most, EXACT_INT))
    if fits.all():
        return computed
    low, high = np.where(fits, computed.low, least), np.where(fits, computed.high, most)
    return Interval(low, high, np.asarray(computed.varies | ~fits), computed.fault)


def _real(computed: Interval, elem_type: str) -> Interval:
    low, high = computed.low, computed.high
    largest, smallest = LARGEST.get(elem_type, LARGEST["float16"]), SMALLEST.get(elem_type, SMALLEST["float16"])
    large, small = _beyond(low, largest), _below(low, smallest)
    if low is not high:
        large, small = large | _beyond(high, largest), small | _below(high, smallest)
    if large.any():
        certain = ((low > largest) | (high < -largest)).all()
        computed = computed.flawed(large, Fault("is infinite" if certain else "may be infinite"))
    if not small.any():
        return computed
    step = smallest * DISTANCE
    low = np.where(small, np.minimum(low, 0) - step * (low < 0), computed.low)
    high = np.where(small, np.maximum(high, 0) + step * (high > 0), computed.high)
    return interval_of(low, high, computed)


DISTANCE = 2.0**-7
"""Distance of numbers below a type's smallest normal one, as part of that: bfloat16's, all others' is less."""


def _beyond(end: Floats, largest: float) -> Mask:
    return np.asarray(np.isfinite(end) & (np.abs(end) > largest))


def _below(end: Floats, smallest: float) -> Mask:
    return np.asarray((end != 0) & (np.abs(end) < smallest))


def settled(stored: Interval, elem_type: str) -> Interval:
    """The interval with elements marked whose ends are too far apart to tell one value of the type."""
    if stored.low is stored.high and (elem_type in FOLLOWED or is_whole(elem_type)):
        return stored
    if elem_type in FOLLOWED:
        near = stored.high - stored.low <= WIDE * (np.abs(stored.low) + np.abs(stored.high))
    else:
        near = stored.exact if is_whole(elem_type) else stored.zero
    return stored.unsettled(~near)


# Arrays along a tensor that is regrouped or picked from; only axes that differ are spread out.


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


# Intervals along the axes of a tensor: levelled, laid out, and taken along one axis; masks likewise.


MAX_ELEMENTS = 2**24
"""Elements of an array; of a tensor that needs a larger one nothing is known."""


def fits(*shapes: Sequence[int]) -> bool:
    """Whether arrays broadcast with each other to one within the size limit."""
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
    """Whether any element along some axes, which stay with length 1 or go."""
    return np.asarray(mask.any(axis=tuple(axes), keepdims=keep))
