"""Loops of depthwise convolutions of 16-bit activations.

Sources (7.0.0): ConvolutionFunctions/arm_depthwise_conv_s16.c and arm_depthwise_conv_fast_s16.c,
NNSupportFunctions/arm_nn_depthwise_conv_nt_t_s16.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.depthwise_s4 import window_outputs
from onnxlint_cmsis.cmsis_nn.loops.depthwise_s8 import columns_of_windows, fours_of_channels
from onnxlint_cmsis.cmsis_nn.loops.memory import library_block
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def s16_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """One output at a time; divisions find the taps of a dilated window.

    clang 19.1 takes four taps of a filter row at once, and enters another loop for those past them.
    """
    past_four = sizes.n * sizes.out_c * sizes.plane.h.inside * sizes.plane.w.past_four
    return {
        "dw_s16": 1,
        **window_outputs("dw_s16", sizes, 1, sizes.out_c),
        "dw_s16.tap.past_four": past_four,
    }


def s16_fast(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1: columns of windows, four channels at a time."""
    if isa is Isa.MVE:
        return _fast_mve(sizes)
    counts = {"fast_s16.image": sizes.n, **columns_of_windows("fast_s16", sizes, sizes.n)}
    inside, rows = sizes.n * sizes.plane.inside, counts["fast_s16.filter_row"]
    add(counts, fours_of_channels("fast_s16", sizes, sizes.n))
    add(counts, library_block("fast_s16.copy", inside, 2 * sizes.in_c))
    add(counts, library_block("fast_s16.fill", rows * sizes.filter_w - inside, 2 * sizes.in_c))
    return counts


def _fast_mve(sizes: LoopSizes) -> Counts:
    """Four columns at a time; columns left after the last image one by one."""
    plane, pixels = sizes.plane, sizes.n * sizes.pixels
    fours, left = divmod(pixels, 4)
    vectors = up(sizes.in_c, 4)
    inside = sizes.n * plane.inside
    counts = {
        "fast_s16": 1,
        "fast_s16.image": sizes.n,
        "fast_s16.row": sizes.n * sizes.out_h,
        "fast_s16.pixel": pixels,
        "fast_s16.filter_row": pixels * sizes.filter_h,
        "fast_s16.above": sizes.n * plane.h.before * sizes.out_w * sizes.filter_w,
        "fast_s16.below": sizes.n * plane.h.after * sizes.out_w * sizes.filter_w,
        "fast_s16.left.column": sizes.n * plane.h.inside * plane.w.before,
        "fast_s16.right.column": sizes.n * plane.h.inside * plane.w.after,
        "fast_s16.four": fours,
        "fast_s16.four.vector": fours * vectors,
        "fast_s16.four.tap": fours * vectors * sizes.taps,
        "fast_s16.rest": left,
        "fast_s16.rest.vector": left * vectors,
        "fast_s16.rest.tap": left * vectors * sizes.taps,
    }
    add(counts, library_block("fast_s16.copy", inside, 2 * sizes.in_c))
    add(counts, library_block("fast_s16.fill", pixels * sizes.taps - inside, 2 * sizes.in_c))
    return counts
