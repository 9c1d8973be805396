"""What a choice of sizes is measured by, and the weights of an objective, as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.ground.named_tuples import NamedTuple

Numbers = NDArray[np.int64]
Measures = tuple[int, ...]
"""Hazards, instructions, bytes and the like, in the order of `MeasureIndex`."""
Level = tuple[int, ...]
"""Weight of each measure in one level of an objective; an earlier level goes before every later one."""


def added(rows: Iterable[Measures]) -> Measures:
    """Measures added one by one."""
    return tuple(map(sum, zip(*rows, strict=True)))


def scores(levels: Sequence[Level], measures: Measures) -> tuple[int, ...]:
    """Value of each level of an objective; the less, the better, in order."""
    return tuple(sum(weight * value for weight, value in zip(level, measures, strict=True)) for level in levels)


class Count(NamedTuple):
    """Measures of one factor, or their weights in one level of an objective."""

    hazards: tuple[int, ...] = ()
    """Known hazards of each target."""
    risks: tuple[int, ...] = ()
    """Known and open hazards of each target; no policy lowers them, none may raise them."""
    instructions: tuple[int, ...] = ()
    """Instructions of all layers on each target."""
    unpriced: int = 0
    """Lanes added, and kernels entered, at unknown cost."""
    misses: int = 0
    """Missed routing conditions."""
    unaligned: int = 0
    """Channel counts off the multiple of `align`."""
    bytes: int = 0
    """Bytes of stored constants."""


class MeasureIndex(NamedTuple):
    """Places of the measures for a number of targets."""

    targets: int
    """Number of targets."""

    def row(self, count: Count) -> Measures:
        """The measures as a row; a missing tuple stands for zeros."""
        zeros = (0,) * self.targets
        rest = count.unpriced, count.misses, count.unaligned, count.bytes
        of_targets = (count.hazards or zeros, count.risks or zeros, count.instructions or zeros)
        return (*chain(*of_targets), *rest)

    def zeros(self, *shape: int) -> Numbers:
        """Measures that are all 0: [measures, *shape]."""
        return np.zeros((3 * self.targets + 4, *shape), dtype=np.int64)

    def level(self, *, hazards: int = 0, instructions: int = 0, **weights: int) -> Level:
        """Weights of one level, the same for every target."""
        count = Count((hazards,) * self.targets, (), (instructions,) * self.targets, **weights)
        return self.row(count)

    def read(self, measures: Measures) -> Count:
        """A row by name."""
        measures = measures or self.row(Count())
        first, second, third = (self.targets * kinds for kinds in (1, 2, 3))
        return Count(measures[:first], measures[first:second], measures[second:third], *measures[third:])

    @property
    def hazards(self) -> range:
        """Places of the known hazards."""
        return range(self.targets)

    @property
    def risks(self) -> range:
        """Places of the hazards, known and open."""
        return range(self.targets, 2 * self.targets)

    @property
    def instructions(self) -> range:
        """Places of the instructions."""
        return range(2 * self.targets, 3 * self.targets)

    @property
    def unpriced(self) -> int:
        """Place of the lanes of unknown cost."""
        return 3 * self.targets

    @property
    def misses(self) -> int:
        """Place of the missed conditions."""
        return 3 * self.targets + 1

    @property
    def unaligned(self) -> int:
        """Place of the channel counts off the multiple."""
        return 3 * self.targets + 2

    @property
    def bytes(self) -> int:
        """Place of the bytes."""
        return 3 * self.targets + 3
