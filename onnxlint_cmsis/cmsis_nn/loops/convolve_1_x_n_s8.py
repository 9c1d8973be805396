"""Loops of arm_convolve_1_x_n_s8 on MVE (ConvolutionFunctions/arm_convolve_1_x_n_s8.c of each release).

Elsewhere it hands the work to arm_convolve_s8.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.memory import block
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.products import core_1x_s8, core_4x_s8, nt_t_s8
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def strips(sizes: LoopSizes, isa: Isa) -> Counts:
    """From 6.0.0 on: padded columns on either side come from a strip, those between from the input; three products."""
    left, middle, right = columns_of(sizes)
    counts = {"one_by_n": sizes.n, "one_by_n.left": sizes.n * (left > 0), "one_by_n.right": sizes.n * (right > 0)}
    for columns, padded, copied in ((left, sizes.pad_w, sizes.filter_w), (right, right, sizes.filter_w - 1)):
        add(counts, block(isa, "one_by_n.fill", sizes.n * (columns > 0), padded * sizes.in_c))
        add(counts, block(isa, "one_by_n.copy", sizes.n, copied * sizes.in_c))
    for rows in (left, middle, right):
        add(counts, nt_t_s8(isa, sizes.n, rows, sizes.depth, sizes.out_c))
    return counts


def single_columns(sizes: LoopSizes, isa: Isa) -> Counts:
    """4.1.0 and 5.0.0: padded columns one at a time, those between in one product."""
    left, middle, right = columns_of(sizes)
    counts = {"one_by_n": sizes.n}
    for column in (*range(left), *range(sizes.out_w - right, sizes.out_w)):
        add(counts, core_1x_s8(sizes.n, taps_inside(sizes, column) * sizes.in_c, sizes.out_c))
    add(counts, nt_t_s8(isa, sizes.n, middle, sizes.depth, sizes.out_c))
    return counts


def fours(sizes: LoopSizes, _: Isa) -> Counts:
    """4.0.0: four columns at a time; one at a time where the first or the last touches the padding."""
    counts = {"one_by_n": 1, "one_by_n.group": sizes.n * (sizes.out_w // 4)}
    for first in range(0, sizes.out_w - 3, 4):
        inside = [taps_inside(sizes, column) for column in range(first, first + 4)]
        starts_inside = first * sizes.stride_w >= sizes.pad_w
        if starts_inside and (first + 3) * sizes.stride_w - sizes.pad_w + sizes.filter_w <= sizes.in_w:
            add(counts, core_4x_s8(sizes.n, sizes.depth, sizes.out_c))
            continue
        counts["one_by_n.padded"] = counts.get("one_by_n.padded", 0) + sizes.n
        for taps in inside:
            add(counts, core_1x_s8(sizes.n, taps * sizes.in_c, sizes.out_c))
    return counts


def taps_inside(sizes: LoopSizes, column: int) -> int:
    """Filter taps of a column of the output that fall on the input."""
    start = column * sizes.stride_w - sizes.pad_w
    return max(0, min(sizes.filter_w, sizes.in_w - start) - max(0, -start))


def columns_of(sizes: LoopSizes) -> tuple[int, int, int]:
    """Columns with padding on the left, without, on the right: left_pad_num, no_pad_num, right_pad_num."""
    total = (sizes.out_w - 1) * sizes.stride_w + sizes.filter_w - sizes.in_w
    after = sizes.pad_w + (total % 2 if total >= 0 else -(-total % 2))
    left = up(sizes.pad_w, sizes.stride_w)
    right = max(up(after, sizes.stride_w), 1) if after else 0
    return left, max(sizes.out_w - left - right, 0), right
