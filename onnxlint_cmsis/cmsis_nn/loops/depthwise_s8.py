"""Loops of depthwise convolutions.

Sources: ConvolutionFunctions/arm_depthwise_conv_3x3_s8.c, arm_depthwise_conv_s8.c, arm_depthwise_conv_s8_opt.c and
arm_depthwise_conv_wrapper_s8.c of each release.
"""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.cmsis_nn.loops.memory import block, library_block, widen
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa

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
    tiles = sizes.in_c * (sizes.ch_mult // 4)
    return {
        "mult_4": 1,
        "mult_4.row": sizes.out_h,
        "mult_4.pixel": sizes.pixels,
        "mult_4.channel": sizes.pixels * sizes.in_c,
        **row_taps("mult_4.tap", sizes, tiles),
        **met_windows("mult_4.tile", "mult_4.filter_row", sizes, tiles),
    }


def s8_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """One output channel at a time."""
    return {
        "generic": 1,
        "generic.row": sizes.n * sizes.out_h,
        "generic.pixel": sizes.n * sizes.pixels,
        "generic.channel": sizes.n * sizes.pixels * sizes.in_c,
        "generic.output.dilated_h": sizes.n * sizes.pixels * sizes.out_c * (sizes.dilation_h > 1),
        "generic.output.dilated_w": sizes.n * sizes.pixels * sizes.out_c * (sizes.dilation_w > 1),
        **row_taps("generic.tap", sizes, sizes.n * sizes.out_c),
        **met_windows("generic.output", "generic.filter_row", sizes, sizes.n * sizes.out_c),
    }


def row_taps(name: str, sizes: LoopSizes, outputs: int) -> Counts:
    """Taps on the input of `outputs` of each pixel: four of a filter row, which clang unrolls, and the others.

    Rows of 8 taps and more were not measured: their second four counts as others (clang 19.1: 2.5 % of a 10x8 window).
    """
    plane = sizes.plane
    rest = plane.w.inside - 4 * plane.w.with_four
    return {
        f"{name}.four": plane.h.inside * plane.w.with_four * outputs,
        f"{name}.rest": plane.h.inside * rest * outputs,
    }


def met_windows(output: str, filter_row: str, sizes: LoopSizes, outputs: int) -> Counts:
    """`outputs` of each pixel and their filter rows: those that meet the input, and those wholly in the padding."""
    rows, columns = sizes.plane.h, sizes.plane.w
    return {
        output: (sizes.out_h - rows.outside) * (sizes.out_w - columns.outside) * outputs,
        f"{output}.no_column": (sizes.out_h - rows.outside) * columns.outside * outputs,
        f"{output}.no_row": rows.outside * sizes.out_w * outputs,
        filter_row: rows.inside * (sizes.out_w - columns.outside) * outputs,
        f"{filter_row}.no_tap": rows.inside * columns.outside * outputs,
    }


def s8_opt(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1; on scalar it hands the work to arm_depthwise_conv_s8."""
    if isa is Isa.MVE:
        return in_blocks("opt", sizes, _s8_opt_block)
    inside = sizes.plane.inside
    outside = sizes.plane.h.inside * (sizes.plane.w.before + sizes.plane.w.after)
    counts = {"opt.copy": inside, **columns_of_windows("opt", sizes, 1), **fours_of_channels("opt", sizes, 1)}
    add(counts, widen("opt.copy", inside, sizes.in_c))
    add(counts, library_block("opt.fill", outside, 2 * sizes.in_c))
    return counts


def columns_of_windows(name: str, sizes: LoopSizes, images: int) -> Counts:
    """A column of 16-bit values for each pixel; rows of the filter above and below the input are one fill each."""
    rows, above_and_below = sizes.plane.h, images * sizes.out_w
    values = above_and_below * sizes.filter_w * sizes.in_c
    return {
        name: 1,
        f"{name}.row": images * sizes.out_h,
        f"{name}.pixel": (sizes.out_h - rows.outside) * above_and_below,
        f"{name}.pixel.no_row": rows.outside * above_and_below,
        f"{name}.filter_row": rows.inside * above_and_below,
        f"{name}.above": (rows.cut_before + rows.cut_both) * above_and_below,
        f"{name}.below": (rows.cut_after + rows.cut_both) * above_and_below,
        f"{name}.above.value": rows.before * values,
        f"{name}.below.value": rows.after * values,
    }


def fours_of_channels(name: str, sizes: LoopSizes, images: int) -> Counts:
    """Four channels at a time by two taps, then single channels."""
    pixels = images * sizes.pixels
    four, single, several = pixels * (sizes.in_c // 4), pixels * (sizes.in_c % 4), 1 * (sizes.taps > 1)
    return {
        f"{name}.fours.enter": pixels * (sizes.in_c >= 4),
        f"{name}.four": four * several,
        f"{name}.four.of_one_tap": four * (1 - several),
        f"{name}.four.two_taps": four * (sizes.taps // 2),
        f"{name}.four.two_taps.enter": four * several,
        f"{name}.four.odd_tap": four * several * (sizes.taps % 2),
        f"{name}.singles.enter": pixels * (sizes.in_c % 4 > 0),
        f"{name}.single": single * several,
        f"{name}.single.of_one_tap": single * (1 - several),
        f"{name}.single.tap": single * several * sizes.taps,
    }


def in_blocks(name: str, sizes: LoopSizes, of_block: Callable[[LoopSizes, int], Counts]) -> Counts:
    """Blocks of channels on MVE; four pixels at a time, the rest one at a time."""
    counts: Counts = {name: 1}
    whole, rest = divmod(sizes.in_c, BLOCK_MVE)
    add(counts, of_block(sizes, BLOCK_MVE), whole)
    add(counts, of_block(sizes, rest), rest > 0)
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


def _s8_opt_block(sizes: LoopSizes, channels: int) -> Counts:
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
