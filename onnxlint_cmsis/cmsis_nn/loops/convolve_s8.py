"""Loops of convolutions.

Sources in ConvolutionFunctions: arm_convolve_s8.c, arm_convolve_1x1_s8.c and arm_convolve_1x1_s8_fast.c
of each release.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.memory import block, library_block, widen
from onnxlint_cmsis.cmsis_nn.loops.products import core_4x_s8, kernel_s8_s16, mat_mult_s8, nt_t_s8, single_column
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add, by_rest
from onnxlint_cmsis.ground.types import Isa


def convolve_1x1_s8_fast(sizes: LoopSizes, isa: Isa) -> Counts:
    """One product over all pixels."""
    rows = sizes.n * sizes.in_h * sizes.in_w
    return {"convolve_1x1_s8_fast": 1, **nt_t_s8(isa, 1, rows, sizes.in_c, sizes.out_c)}


def convolve_1x1_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """One product for each output row."""
    return {"convolve_1x1_s8": 1, **nt_t_s8(isa, sizes.n * sizes.out_h, sizes.out_w, sizes.in_c, sizes.out_c)}


def convolve_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """Columns of windows, two at a time (four on MVE), each group multiplied by all filters."""
    counts = {"convolve_s8": 1, **_convolution_im2col(sizes)}
    inside = sizes.plane.inside
    add(counts, block(isa, "im2col.copy", sizes.n * inside, sizes.in_c))
    add(counts, block(isa, "im2col.fill", sizes.n * (sizes.pixels * sizes.taps - inside), sizes.in_c))
    if isa is Isa.MVE:
        add(counts, rows_by_four(sizes))
    else:
        add(counts, widen("convolve_s8.widen", sizes.n * sizes.pixels, sizes.depth))
        columns_by_two(counts, sizes, isa)
    return counts


def convolve_s8_widening_taps(sizes: LoopSizes, isa: Isa) -> Counts:
    """Scalar and dsp in 4.0.0: every tap is widened on its way into the column."""
    counts = {"convolve_s8": 1, **_convolution_im2col(sizes)}
    outside = sizes.pixels * sizes.taps - sizes.plane.inside
    counts["im2col.copy"] = sizes.n * sizes.plane.inside
    add(counts, widen("im2col.copy", sizes.n * sizes.plane.inside, sizes.in_c))
    add(counts, block(isa, "im2col.fill", sizes.n * outside, 2 * sizes.in_c))
    columns_by_two(counts, sizes, isa)
    return counts


def convolve_s8_core_4x(sizes: LoopSizes, isa: Isa) -> Counts:
    """MVE in 4.0.0: groups of four pixels by one function, or by another where a tap falls in the padding.

    Taps in the padding are filled by the C library there, not by arm_memset_s8.
    """
    counts = {"convolve_s8": 1, **_convolution_im2col(sizes)}
    inside, left = sizes.plane.inside, sizes.pixels % 4
    whole, padded = sizes.fours
    add(counts, block(isa, "im2col.copy", sizes.n * inside, sizes.in_c))
    add(counts, library_block("im2col.fill", sizes.n * (sizes.pixels * sizes.taps - inside), sizes.in_c))
    add(counts, core_4x_s8(sizes.n * whole, sizes.depth, sizes.out_c))
    add(counts, mat_mult_s8(sizes.n * padded, 4, sizes.depth, sizes.out_c))
    add(counts, mat_mult_s8(sizes.n if left else 0, left, sizes.depth, sizes.out_c))
    return counts


def _convolution_im2col(sizes: LoopSizes) -> Counts:
    """The loops around the copies of the taps."""
    plane, images = sizes.plane, sizes.n
    return {
        "im2col.row": images * sizes.out_h,
        "im2col.pixel": images * sizes.pixels,
        "im2col.filter_row": images * plane.h.inside * sizes.out_w,
        "im2col.filter_row.outside": images * (plane.h.before + plane.h.after) * sizes.out_w,
        "im2col.above": images * plane.h.before * sizes.out_w * sizes.filter_w,
        "im2col.below": images * plane.h.after * sizes.out_w * sizes.filter_w,
        "im2col.left": images * plane.h.inside * plane.w.before,
        "im2col.right": images * plane.h.inside * plane.w.after,
    }


def rows_by_four(sizes: LoopSizes) -> Counts:
    """Four columns of windows at a time multiplied on MVE, and what is left of each image."""
    fours, left = divmod(sizes.pixels, 4)
    counts = nt_t_s8(Isa.MVE, sizes.n * fours, 4, sizes.depth, sizes.out_c)
    add(counts, nt_t_s8(Isa.MVE, sizes.n if left else 0, left, sizes.depth, sizes.out_c))
    return counts


def columns_by_two(counts: Counts, sizes: LoopSizes, isa: Isa) -> None:
    """Two columns of windows at a time multiplied, and one that is left.

    Those of under four values have separate pieces: what gcc makes of a loop that takes four at a time costs
    something else where it is not entered, and that shows in them alone.
    """
    pairs, odd = divmod(sizes.pixels, 2)
    images = sizes.n * (sizes.depth >= 4)
    add(counts, kernel_s8_s16(isa, images * pairs, sizes.depth, sizes.out_c))
    add(counts, single_column(isa, images * odd, sizes.depth, sizes.out_c))
    narrow = sizes.n - images
    counts |= {"narrow.image": narrow, **dict(by_rest("narrow.pixel", narrow * sizes.pixels, sizes.depth, 4)[1:])}
    for name, columns, together in (("narrow.pair", narrow * pairs, 2), ("narrow.column", narrow * odd, 1)):
        groups, rest = columns * (sizes.out_c // together), columns * (sizes.out_c % together)
        counts |= {
            name: columns,
            f"{name}.channel": groups,
            f"{name}.enter": columns * (sizes.out_c >= together),
            f"{name}.value": groups * sizes.depth,
            f"{name}.rest": rest,
            f"{name}.rest.value": rest * sizes.depth,
        }
