"""The measures of a choice of sizes, and their order in a row."""

from __future__ import annotations

from itertools import chain

import numpy as np

from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.problem import Level, Measures, Numbers


class Count(NamedTuple):
    """Measures of one factor, or their weights in one level of an objective."""

    hazards: tuple[int, ...] = ()
    """Known hazards of each target."""
    risks: tuple[int, ...] = ()
    """Known and open hazards of each target; no policy lowers them, none may raise them."""
    instructions: tuple[int, ...] = ()
    """Of each target."""
    unpriced: int = 0
    """Lanes added, and kernels entered, at unknown cost."""
    misses: int = 0
    """Missed routing conditions."""
    unaligned: int = 0
    """Channel counts off the multiple of `--align`."""
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
        one, two, three = (self.targets * kinds for kinds in (1, 2, 3))
        return Count(measures[:one], measures[one:two], measures[two:three], *measures[three:])

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
