"""Depthwise convolutions: how often the loops of each kernel run.

Sources: ConvolutionFunctions/arm_depthwise_conv_3x3_s8.c, arm_depthwise_conv_s8.c, arm_depthwise_conv_s8_opt.c and
arm_depthwise_conv_wrapper_s8.c of each release.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.memory import block, library_block, widen
from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes, add
from onnxlint_cmsis.types import Isa

BLOCK_MVE = 124
"""Channels of a block of arm_depthwise_conv_s8_opt on MVE: CH_IN_BLOCK_MVE."""


def conv_3x3_s8(sizes: LoopSizes, _: Isa) -> Counts:
    """Four channels at a time, then one; a filter row has its first and last tap where the column has them."""
    plane = sizes.plane
    four, single = divmod(sizes.in_c, 4)
    counts = {"conv_3x3_s8": 1, "conv_3x3_s8.row": sizes.out_h, "conv_3x3_s8.pixel": sizes.pixels}
    columns = (
        ("whole", plane.w.whole), ("no_left", plane.w.cut_before), ("no_right", plane.w.cut_after),
        ("middle", plane.w.cut_both),
    )  # fmt: skip
    for name, channels in (("conv_3x3_s8.four", four), ("conv_3x3_s8.single", single)):
        counts[f"{name}.enter"] = sizes.pixels * (channels > 0)
        for column, times in columns:
            counts[f"{name}.{column}"] = sizes.out_h * times * channels
            counts[f"{name}.{column}.filter_row"] = plane.h.inside * times * channels
            counts[f"{name}.{column}.cut"] = (sizes.out_h - plane.h.whole) * times * channels
    return counts


def s8_mult_4(sizes: LoopSizes, _: Isa) -> Counts:
    """Four multiplied channels of one input channel at a time."""
    plane = sizes.plane
    tiles = sizes.in_c * (sizes.ch_mult // 4)
    return {
        "mult_4": 1,
        "mult_4.row": sizes.out_h,
        "mult_4.pixel": sizes.pixels,
        "mult_4.channel": sizes.pixels * sizes.in_c,
        "mult_4.tile": sizes.pixels * tiles,
        "mult_4.filter_row": plane.h.inside * sizes.out_w * tiles,
        "mult_4.tap": plane.inside * tiles,
    }


def s8_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """One output channel at a time."""
    plane = sizes.plane
    return {
        "generic": 1,
        "generic.row": sizes.n * sizes.out_h,
        "generic.pixel": sizes.n * sizes.pixels,
        "generic.channel": sizes.n * sizes.pixels * sizes.in_c,
        "generic.output": sizes.n * sizes.pixels * sizes.out_c,
        "generic.filter_row": sizes.n * plane.h.inside * sizes.out_w * sizes.out_c,
        "generic.tap": sizes.n * plane.inside * sizes.out_c,
    }


def s8_opt(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1; on scalar it hands the work to arm_depthwise_conv_s8."""
    return _opt_mve(sizes) if isa is Isa.MVE else _opt_dsp(sizes)


def _opt_dsp(sizes: LoopSizes) -> Counts:
    """A column of 16-bit values for each pixel, then four channels at a time by two taps, then single channels."""
    plane, pixels = sizes.plane, sizes.pixels
    four, single = divmod(sizes.in_c, 4)
    rows, outside = plane.h.inside * sizes.out_w, plane.h.inside * (plane.w.before + plane.w.after)
    counts = {
        "opt": 1,
        "opt.row": sizes.out_h,
        "opt.pixel": pixels,
        "opt.filter_row": rows,
        "opt.fours.enter": pixels * (four > 0),
        "opt.four": pixels * four,
        "opt.four.two_taps": pixels * four * (sizes.taps // 2),
        "opt.four.two_taps.enter": pixels * four * (sizes.taps > 1),
        "opt.four.odd_tap": pixels * four * (sizes.taps % 2),
        "opt.singles.enter": pixels * (single > 0),
        "opt.single": pixels * single,
        "opt.single.tap": pixels * single * sizes.taps,
        "opt.above": (plane.h.cut_before + plane.h.cut_both) * sizes.out_w,
        "opt.below": (plane.h.cut_after + plane.h.cut_both) * sizes.out_w,
        "opt.above.value": plane.h.before * sizes.out_w * sizes.filter_w * sizes.in_c,
        "opt.below.value": plane.h.after * sizes.out_w * sizes.filter_w * sizes.in_c,
        "opt.copy": plane.inside,
    }
    add(counts, widen("opt.copy", plane.inside, sizes.in_c))
    add(counts, library_block("opt.fill", outside, 2 * sizes.in_c))
    return counts


def _opt_mve(sizes: LoopSizes) -> Counts:
    """Blocks of channels; four pixels at a time, the rest one at a time."""
    counts: Counts = {"opt": 1}
    whole, rest = divmod(sizes.in_c, BLOCK_MVE)
    add(counts, _opt_block(sizes, BLOCK_MVE), whole)
    add(counts, _opt_block(sizes, rest), rest > 0)
    return counts


def gathered_windows(name: str, sizes: LoopSizes, channels: int) -> Counts:
    """Windows of a block of channels that MVE code gathers: rows of the filter in the input, taps in the padding."""
    plane = sizes.plane
    outside = sizes.pixels * sizes.taps - plane.inside
    above = plane.h.before * sizes.out_w * sizes.filter_w
    below = plane.h.after * sizes.out_w * sizes.filter_w
    counts = {
        f"{name}.block": 1,
        f"{name}.row": sizes.out_h,
        f"{name}.pixel": sizes.pixels,
        f"{name}.filter_row": plane.h.inside * sizes.out_w,
        f"{name}.filter_row.outside": (plane.h.before + plane.h.after) * sizes.out_w,
        f"{name}.above": above,
        f"{name}.below": below,
        f"{name}.beside": outside - above - below,
    }
    add(counts, block(Isa.MVE, f"{name}.copy", plane.inside, channels))
    add(counts, block(Isa.MVE, f"{name}.fill", outside, channels))
    return counts


def _opt_block(sizes: LoopSizes, channels: int) -> Counts:
    vectors, left = up(channels, 4), sizes.pixels % 4
    counts = gathered_windows("opt", sizes, channels) | {
        "opt.left.enter": left > 0,
        "opt.left": left,
        "opt.left.vector": left * vectors,
        "opt.left.tap": left * vectors * sizes.taps,
    }
    for name, fours in zip(("opt.four", "opt.padded_four"), sizes.fours, strict=True):
        counts[name] = fours
        counts[f"{name}.vector"] = fours * vectors
        counts[f"{name}.tap"] = fours * vectors * sizes.taps
    return counts


def to_conv(sizes: LoopSizes) -> Counts:
    """What arm_depthwise_conv_wrapper_s8 adds on MVE before it calls a convolution: arm_transpose_s8 of the filter."""
    return {
        "to_conv": 1,
        "to_conv.row": sizes.filter_h,
        "to_conv.tap": sizes.taps,
        "to_conv.weight": sizes.taps * sizes.out_c,
        "to_conv.output": sizes.out_c,
    }
