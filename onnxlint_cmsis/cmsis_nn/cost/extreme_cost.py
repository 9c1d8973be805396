"""Maximum and minimum, which broadcast: how often their loops run.

Sources: BasicMathFunctions/arm_maximum_s8.c and arm_minimum_s8.c of 7.0.0 and main.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes, add
from onnxlint_cmsis.types import Isa

LEVELS = ("all", "image", "row", "pixel")
"""Levels at which a loop over all remaining elements begins, from the outermost."""


def maximum_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_maximum_s8."""
    return _extreme("maximum", sizes, isa)


def minimum_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_minimum_s8."""
    return _extreme("minimum", sizes, isa)


def _extreme(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Loops go down to the level where the operands have equal sizes, or one of them is a single number.

    gcc makes separate loops for each level, so each piece is named after its level.
    """
    counts: Counts = {}
    walked: list[tuple[str, int]] = []
    open_, turns = 1, 1
    for axis, level in enumerate(LEVELS):
        first, second = sizes.image[axis:], sizes.second[axis:]
        same = 1
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            walked.append((f"{level}.differs_{place}", turns * same * (one != other)))
            same = same * (one == other)
        walked.append((level, turns))
        lone = (1 - same) * (_product(first) == 1)
        other_lone = (1 - same - lone) * (_product(second) == 1)
        steps = _steps(isa, _product(sizes.output[axis:]))
        for word, taken in (("same", same), ("first_single", lone), ("second_single", other_lone)):
            ends, end = open_ * taken, f"{name}.{level}_{word}"
            add(counts, {end: ends, f"{end}.step": ends * turns * steps})
            add(counts, {f"{end}.{passed}": ends * times for passed, times in walked})
        open_, turns = open_ * (1 - same - lone - other_lone), turns * sizes.output[axis]
    return counts


def _steps(isa: Isa, length: int) -> int:
    """Turns of a loop over a run of elements: 16 at a time on MVE, one at a time elsewhere."""
    return up(length, 16) if isa is Isa.MVE else length


def _product(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total = total * size
    return total
