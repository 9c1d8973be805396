"""Loops of convolutions and fully connected layers with 4-bit weights.

Sources (7.0.0): ConvolutionFunctions/arm_convolve_s4.c, arm_convolve_even_s4.c, arm_convolve_1x1_s4_fast.c,
arm_convolve_1x1_s4.c and arm_convolve_1_x_n_s4.c, FullyConnectedFunctions/arm_fully_connected_s4.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.convolve_1_x_n_s8 import columns_of, taps_inside
from onnxlint_cmsis.cmsis_nn.loops.memory import block, library_block, widen
from onnxlint_cmsis.cmsis_nn.loops.products_s4 import (
    core_1x_s4,
    even_s4,
    kernel_s4_s16,
    nt_t_s4,
    single_column_s4,
    vec_mat_t_s4,
)
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def convolve_1x1_s4_fast(sizes: LoopSizes, isa: Isa) -> Counts:
    """One product over all pixels."""
    rows = sizes.n * sizes.in_h * sizes.in_w
    return {"convolve_1x1_s4_fast": 1, **nt_t_s4(isa, 1, rows, sizes.in_c, sizes.out_c)}


def convolve_1x1_s4(sizes: LoopSizes, isa: Isa) -> Counts:
    """One product for each output row."""
    rows = sizes.n * sizes.out_h
    counts = {"convolve_1x1_s4": 1, "convolve_1x1_s4.image": sizes.n}
    return counts | nt_t_s4(isa, rows, sizes.out_w, sizes.in_c, sizes.out_c)


def convolve_s4(sizes: LoopSizes, isa: Isa) -> Counts:
    """Columns of windows, two at a time (four on MVE), each group multiplied by all filters."""
    counts = {"convolve_s4": 1, **tap_copies("im2col_s4", sizes)}
    inside, pixels = sizes.plane.inside, sizes.pixels
    outside = pixels * sizes.taps - inside
    if isa is Isa.MVE:
        add(counts, block(isa, "im2col_s4.copy", sizes.n * inside, sizes.in_c))
        add(counts, block(isa, "im2col_s4.fill", sizes.n * outside, sizes.in_c))
        add(counts, nt_t_s4(isa, sizes.n * (pixels // 4), 4, sizes.depth, sizes.out_c))
        add(counts, nt_t_s4(isa, sizes.n * (pixels % 4 > 0), pixels % 4, sizes.depth, sizes.out_c))
        return counts
    counts["im2col_s4.copy"] = sizes.n * inside
    if isa is Isa.SCALAR:
        counts["im2col_s4.copy.value"] = sizes.n * inside * sizes.in_c
    else:
        add(counts, widen("im2col_s4.copy", sizes.n * inside, sizes.in_c))
    add(counts, library_block("im2col_s4.fill", sizes.n * outside, 2 * sizes.in_c))
    add(counts, kernel_s4_s16(isa, sizes.n * (pixels // 2), sizes.depth, sizes.out_c))
    add(counts, single_column_s4(isa, sizes.n * (pixels % 2), sizes.depth, sizes.out_c))
    return counts


def convolve_even_s4(sizes: LoopSizes, isa: Isa) -> Counts:
    """MVE: as convolve_s4, for columns of an even depth; their halves are reordered like the weights."""
    inside, pixels, depth = sizes.plane.inside, sizes.pixels, sizes.depth
    counts = {"convolve_even_s4": 1, **tap_copies("im2col_even", sizes)}
    counts["im2col_even.turn"] = sizes.n * pixels * (depth // 32)
    counts["im2col_even.turn.enter"] = sizes.n * pixels * (depth >= 32)
    add(counts, block(isa, "im2col_even.copy", sizes.n * inside, sizes.in_c))
    add(counts, block(isa, "im2col_even.fill", sizes.n * (pixels * sizes.taps - inside), sizes.in_c))
    add(counts, even_s4(sizes.n * (pixels // 4), 4, depth, sizes.out_c))
    add(counts, even_s4(sizes.n * (pixels % 4 > 0), pixels % 4, depth, sizes.out_c))
    return counts


def tap_copies(name: str, sizes: LoopSizes) -> Counts:
    """The loops around the copies of the taps."""
    plane, images = sizes.plane, sizes.n
    rows = plane.h.inside * sizes.out_w
    return {
        f"{name}.image": images,
        f"{name}.row": images * sizes.out_h,
        f"{name}.pixel": images * sizes.pixels,
        f"{name}.filter_row": images * rows,
        f"{name}.filter_row.outside": images * (sizes.pixels * sizes.filter_h - rows),
        f"{name}.beside": images * (rows * sizes.filter_w - plane.inside),
    }


def convolve_1_x_n_s4(sizes: LoopSizes, isa: Isa) -> Counts:
    """MVE: padded columns one at a time, those between in one product."""
    left, middle, right = columns_of(sizes)
    counts = {"one_by_n_s4": 1, "one_by_n_s4.image": sizes.n}
    counts |= {"one_by_n_s4.left": sizes.n * left, "one_by_n_s4.right": sizes.n * right}
    for column in (*range(left), *range(sizes.out_w - right, sizes.out_w)):
        add(counts, core_1x_s4(sizes.n, taps_inside(sizes, column) * sizes.in_c, sizes.out_c))
    add(counts, nt_t_s4(isa, sizes.n, middle, sizes.depth, sizes.out_c))
    return counts


def fully_connected_s4(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row."""
    return {"fully_connected_s4": 1, **vec_mat_t_s4(isa, sizes.n, sizes.in_c, sizes.out_c)}
