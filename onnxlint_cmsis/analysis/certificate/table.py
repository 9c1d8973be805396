"""The table of the checker: a number for each thing that a lane may compute, for both files."""

from __future__ import annotations

import hashlib
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.operators.integers import NotCoveredError, few

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Ids = NDArray[np.int64]
    Array = NDArray[Any]
    Side = NDArray[Any] | float

Key = tuple[Any, ...]
MOST_NUMBERS = 1 << 21
"""Numbers that two files may need in all: they take some 250 bytes each."""
ELEMENTS = 16
"""Elements that are kept of all tensors for each of these numbers: one takes 8 bytes, be its number new or not."""
MOST_LOOKS = 1 << 27
"""Elements that are moved, in all: a second goes to some twenty million."""


class Numbers:
    """Numbers of lanes, shared by both files; `low` and `high` bound what a lane of integers may hold.

    A number is told by a row: the name of what is computed, and two integers, which are most often the numbers that it
    is computed from. Rows are looked up many at once.
    """

    def __init__(self, most: int = MOST_NUMBERS) -> None:
        self.most = self.room = most
        self.elements = ELEMENTS * most
        """Elements that may still be kept."""
        self.looks = MOST_LOOKS
        """Elements that may still be looked at."""
        self.count = 0
        self.told: list[Key] = []
        """What names stand for."""
        self.kinds = bytearray()
        """Of names, by their places among `KINDS`."""
        self.name_of: dict[Key, int] = {}
        self.number_of: dict[bytes, int] = {}
        self.known: dict[Key, Ids] = {}
        """Results of layers, for layers that are the same in both files."""
        self.rows = np.zeros((most, 3), np.int64)  # memory is taken where it is written
        self.low, self.high = np.zeros(most), np.zeros(most)
        """Of real numbers that integers stand for, the integers."""
        self.unsettled = np.zeros(most, bool)
        """Sums, and what reads one, that no requantization has taken to integers: floats add in the order of lanes."""

    def name(self, *key: Any) -> int:
        """The name of a key. NotCoveredError where there is no room for more numbers."""
        known = self.name_of.get(key)
        if known is None:
            self._take(0 if self.room else 1)
            known = self.name_of[key] = len(self.told)
            self.told.append(key)
            self.kinds.append(KINDS.index(key[0]) if key[0] in KINDS else len(KINDS))
        return known

    def _take(self, more: int) -> None:
        """Room for numbers, all or none: nothing is added behind what has none. NotCoveredError."""
        if more > self.room:
            self.room = 0
            raise NotCoveredError(f"the files need more than {self.most:,} numbers of lanes and elements")
        self.room -= more

    def look(self, shape: Sequence[int]) -> int:
        """Elements of a tensor, counted before they are looked at. NotCoveredError where they are too many."""
        self.looks -= (count := few(shape))
        if self.looks < 0:
            raise NotCoveredError(f"the files have more than {MOST_LOOKS:,} elements to look at")
        return count

    def hold(self, array: Ids) -> None:
        """Count the elements of a tensor that is kept. NotCoveredError where there are too many."""
        self.elements -= array.size
        if self.elements < 0:
            raise NotCoveredError(f"the files have more than {ELEMENTS * self.most:,} elements to keep")

    def numbers(self, name: Side, first: Side, second: Side = 0, low: Side = -math.inf, high: Side = math.inf) -> Ids:
        """Numbers of rows, within bounds; NotCoveredError where there are too many."""
        whole: Ids = np.empty((*np.broadcast(name, first, second).shape, 3), np.int64)
        whole[..., 0], whole[..., 1], whole[..., 2] = name, first, second
        keys = whole.view("V24").reshape(-1).tolist()
        missing = [*dict.fromkeys(itertools.filterfalse(self.number_of.__contains__, keys))]
        self._take(len(missing))
        self.number_of.update(zip(missing, itertools.count(self.count), strict=False))
        numbers = np.fromiter(map(self.number_of.__getitem__, keys), np.int64, len(keys))
        new = numbers >= self.count
        self.rows[numbers[new]] = whole.reshape(-1, 3)[new]
        for side, bound in ((self.low, low), (self.high, high)) if missing else ():
            side[numbers[new]] = np.broadcast_to(bound, whole.shape[:-1]).reshape(-1)[new]
        self.count += len(missing)
        return numbers.reshape(whole.shape[:-1])

    def key(self, number: int) -> Key:
        """What a number stands for: what is computed, from what, and how."""
        name, first, second = self.rows[number].tolist()
        kind, *told = self.told[name]
        if kind == "sum":
            return (kind, *told)
        return (kind, first, *told, *(self.told[second] if kind in ("scaled", "requantize") else (second,)))

    def are(self, numbers: Ids, *kinds: str) -> Array:
        """Tell whether lanes are of a kind."""
        wanted = np.array([kind in kinds for kind in (*KINDS, "")])
        return np.asarray(wanted[np.frombuffer(self.kinds, np.uint8)[self.rows[numbers, 0]]])

    def constants(self, values: Array) -> Ids:
        """The lanes that hold one integer for every input."""
        return self.numbers(self.name("constant"), values, 0, values, values)

    def applied(self, name: Side, of: Ids, second: Side = 0) -> Ids:
        """A function of lanes, which is as little settled as they are; integers in it have their bounds."""
        numbers = self.numbers(name, of, second, self.low[of], self.high[of])
        self.unsettled[numbers] |= self.unsettled[of]
        return numbers

    def elementwise(self, function: Callable[..., Ids], *operands: Ids) -> Ids:
        """What a function of elements makes of operands of one shape.

        Of elements of lanes it makes elements of what it makes of the lanes, so it may stand before or behind a move.
        """
        held = self.are(whole := np.stack(operands), "at")
        if not held.any():
            return function(*operands)
        lead = np.take_along_axis(whole, held.argmax(axis=0)[None], axis=0)
        same = held & (self.rows[whole][..., ::2] == self.rows[lead][..., ::2]).all(axis=-1)
        same |= self.are(np.where(self.are(whole, "real"), self.rows[whole, 1], whole), *UNIFORM)
        lifted = held.any(axis=0) & same.all(axis=0)
        result, lanes = np.empty(lifted.shape, np.int64), np.where(held, self.rows[whole, 1], whole)[:, lifted]
        result[~lifted] = function(*whole[:, ~lifted]) if not lifted.all() else 0
        if lifted.any():
            numbers = function(*lanes)
            others = ~self.are(numbers, *UNIFORM)
            names, _, places = self.rows[lead[0, lifted][others]].T
            numbers[others] = self.applied(names, numbers[others], places)
            result[lifted] = numbers
        return result

    # A lane over a plane, in row-major order, and its elements.

    def at(self, numbers: Ids, count: int) -> Ids:
        """The elements of lanes of `count` elements, [lanes, count]."""
        rows = np.repeat(numbers[:, None], count, axis=1)
        for position in np.flatnonzero(stacks := self.are(numbers, "stack")).tolist():
            rows[position] = np.frombuffer(self.told[self.rows[numbers[position], 0]][1], np.int64)
        others = ~(stacks | self.are(numbers, *UNIFORM))
        rows[others] = self.applied(self.name("at", count), numbers[others][:, None], np.arange(count))
        return rows

    def stacked(self, rows: Ids) -> Ids:
        """The lanes with these elements, two and more each."""
        first, (names, lanes, places) = rows[:, 0], self.rows[rows].transpose(2, 0, 1)
        same = self.are(first, *UNIFORM) & (rows == first[:, None]).all(axis=1)
        back = (names == self.name_of.get(("at", rows.shape[1]))) & (lanes == lanes[:, :1])
        back = (back & (places == np.arange(rows.shape[1]))).all(axis=1)
        result, other = np.where(same, first, lanes[:, 0]), ~(same | back)
        members = rows[other]
        kept = np.array([self.name("stack", row.tobytes()) for row in members], np.int64)
        ids = self.numbers(kept, 0, 0, self.low[members].min(axis=1), self.high[members].max(axis=1))
        self.unsettled[ids] = self.unsettled[members].any(axis=1)
        result[other] = ids
        return result


KINDS = ("constant", "figure", "stack", "pad", "clip", "real", "scaled", "average", "curve", "at", "Add", "Sub", "Mul")
"""What lanes are asked for."""
UNIFORM = ("constant", "figure")
"""Lanes whose elements are all the same: one integer, one real number."""


def digest_of(told: object) -> bytes:
    """What stands for what is told, by its words."""
    return hashlib.sha256(repr(told).encode()).digest()


def digest(array: Array) -> bytes:
    """What stands for the bytes of an array, with its type and shape."""
    told = repr((array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes()
    return hashlib.sha256(told).digest()
