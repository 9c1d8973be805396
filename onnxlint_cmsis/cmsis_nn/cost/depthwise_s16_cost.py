"""Depthwise convolutions of 16-bit activations: how often the loops run.

Sources (7.0.0): ConvolutionFunctions/arm_depthwise_conv_s16.c and arm_depthwise_conv_fast_s16.c,
NNSupportFunctions/arm_nn_depthwise_conv_nt_t_s16.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.memory import library_block
from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes, add
from onnxlint_cmsis.types import Isa


def s16_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """One output at a time; divisions find the taps of a dilated window."""
    plane, images = sizes.plane, sizes.n
    outputs = images * sizes.pixels * sizes.out_c
    return {
        "dw_s16": 1,
        "dw_s16.image": images,
        "dw_s16.row": images * sizes.out_h,
        "dw_s16.pixel": images * sizes.pixels,
        "dw_s16.channel": images * sizes.pixels * sizes.in_c,
        "dw_s16.output": outputs,
        "dw_s16.output.dilated_h": outputs * (sizes.dilation_h > 1),
        "dw_s16.output.dilated_w": outputs * (sizes.dilation_w > 1),
        "dw_s16.filter_row": images * plane.h.inside * sizes.out_w * sizes.out_c,
        "dw_s16.tap": images * plane.inside * sizes.out_c,
    }


def s16_fast(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1: columns of windows, four channels at a time."""
    return _fast_mve(sizes) if isa is Isa.MVE else _fast_dsp(sizes)


def _fast_dsp(sizes: LoopSizes) -> Counts:
    """One column at a time, two taps at a time; each row of padding is one fill."""
    plane, images, pixels = sizes.plane, sizes.n, sizes.n * sizes.pixels
    four, single = divmod(sizes.in_c, 4)
    rows = images * plane.h.inside * sizes.out_w
    above = images * (plane.h.cut_before + plane.h.cut_both) * sizes.out_w
    below = images * (plane.h.cut_after + plane.h.cut_both) * sizes.out_w
    counts = {
        "fast_s16": 1,
        "fast_s16.image": images,
        "fast_s16.row": images * sizes.out_h,
        "fast_s16.pixel": pixels,
        "fast_s16.filter_row": rows,
        "fast_s16.above": above,
        "fast_s16.below": below,
        "fast_s16.above.value": images * plane.h.before * sizes.out_w * sizes.filter_w * sizes.in_c,
        "fast_s16.below.value": images * plane.h.after * sizes.out_w * sizes.filter_w * sizes.in_c,
        "fast_s16.fours.enter": pixels * (four > 0),
        "fast_s16.four": pixels * four,
        "fast_s16.four.two_taps": pixels * four * (sizes.taps // 2),
        "fast_s16.four.two_taps.enter": pixels * four * (sizes.taps > 1),
        "fast_s16.four.odd_tap": pixels * four * (sizes.taps % 2),
        "fast_s16.singles.enter": pixels * (single > 0),
        "fast_s16.single": pixels * single,
        "fast_s16.single.tap": pixels * single * sizes.taps,
    }
    inside = images * plane.inside
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
