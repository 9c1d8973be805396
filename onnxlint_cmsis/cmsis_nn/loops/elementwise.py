"""Loops of element-wise functions.

Sources in BasicMathFunctions: arm_elementwise_add_s8.c, arm_elementwise_mul_s8.c, arm_elementwise_add_s16.c,
arm_elementwise_mul_s16.c (7.0.0), arm_maximum_s8.c and arm_minimum_s8.c (7.0.0 and main).
"""

from __future__ import annotations

from functools import partial

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def _elementwise_s8(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_add_s8 (`add`) and arm_elementwise_mul_s8 (`mul`) over the whole tensor."""
    length = sizes.n * sizes.in_h * sizes.in_w * sizes.in_c
    if isa is Isa.SCALAR:
        return {name: 1, f"{name}.element": length}
    if isa is Isa.MVE:
        return {name: 1, f"{name}.four": up(length, 4)}
    return {name: 1, f"{name}.four": length // 4, f"{name}.single": length % 4, f"{name}.single.enter": length % 4 > 0}


def _elementwise_s16(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """arm_elementwise_add_s16 (`add_s16`) and arm_elementwise_mul_s16 (`mul_s16`) over the whole tensor."""
    length = sizes.n * sizes.in_h * sizes.in_w * sizes.in_c
    if isa is Isa.MVE:
        return {name: 1, f"{name}.four": up(length, 4)}
    two = {f"{name}.two": length // 2, f"{name}.two.enter": 1 * (length > 1)}
    return {name: 1, f"{name}.odd": length % 2} | two


LEVELS = ("all", "image", "row", "pixel")
"""Levels at which a loop over all remaining elements begins, from the outermost."""


def _extreme_s8(name: str, sizes: LoopSizes, isa: Isa) -> Counts:
    """Loops go down to the level where the operands have equal sizes, or one of them is a single number.

    gcc makes separate loops for each level, so each piece is named after its level.
    """
    counts: Counts = {}
    walked: list[tuple[str, int]] = []
    open_, turns = 1, 1
    for axis, level in enumerate(LEVELS):
        first, second = sizes.image[axis:], sizes.second[axis:]
        same = 1
        for axis_before, (left, right) in enumerate(zip(first, second, strict=True)):
            walked.append((f"{level}.differs_{axis_before}", turns * same * (left != right)))
            same = same * (left == right)
        walked.append((level, turns))
        lone = (1 - same) * (_product(first) == 1)
        other_lone = (1 - same - lone) * (_product(second) == 1)
        length = _product(sizes.output[axis:])
        steps = up(length, 16) if isa is Isa.MVE else length
        for word, taken in (("same", same), ("first_single", lone), ("second_single", other_lone)):
            ends, end = open_ * taken, f"{name}.{level}_{word}"
            add(counts, {end: ends, f"{end}.step": ends * turns * steps})
            add(counts, {f"{end}.{passed}": ends * times for passed, times in walked})
        open_, turns = open_ * (1 - same - lone - other_lone), turns * sizes.output[axis]
    return counts


def _product(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total = total * size
    return total


add_s8, mul_s8 = (partial(_elementwise_s8, name) for name in ("add", "mul"))
add_s16, mul_s16 = (partial(_elementwise_s16, name) for name in ("add_s16", "mul_s16"))
maximum_s8, minimum_s8 = (partial(_extreme_s8, name) for name in ("maximum", "minimum"))
