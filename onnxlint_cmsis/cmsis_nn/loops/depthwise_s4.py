"""Loops of depthwise convolutions with 4-bit weights.

Sources (7.0.0): ConvolutionFunctions/arm_depthwise_conv_s4.c and arm_depthwise_conv_s4_opt.c,
NNSupportFunctions/arm_nn_depthwise_conv_nt_t_s4.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops import depthwise_s8
from onnxlint_cmsis.cmsis_nn.loops.memory import library_block, widen
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add
from onnxlint_cmsis.ground.types import Isa


def s4_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """Two outputs together where channels or multiplier are even; one of four loops runs."""
    even, single = 1 - sizes.in_c % 2, 1 * (sizes.ch_mult == 1)
    half = 1 - sizes.ch_mult % 2
    odd_taps = sizes.taps % 2
    counts: Counts = {"dw_s4": 1}
    for name, taken, outputs in (
        ("of_one", even * single, sizes.in_c // 2),
        ("of_odd", even * (1 - single) * (1 - half), sizes.out_c),
        ("of_even", even * (1 - single) * half, sizes.out_c // 2),
        ("uneven", (1 - even) * (1 - odd_taps), sizes.out_c),
        ("uneven.odd_taps", (1 - even) * odd_taps, sizes.out_c),
    ):
        counts |= window_outputs(f"dw_s4.{name}", sizes, taken, outputs)
    return counts


def window_outputs(name: str, sizes: LoopSizes, taken: int, outputs: int) -> Counts:
    """The loops around `outputs` outputs, or pairs of them, of each pixel."""
    images = taken * sizes.n
    pixels = images * sizes.pixels
    return {
        f"{name}.image": images,
        f"{name}.row": images * sizes.out_h,
        f"{name}.pixel": pixels,
        f"{name}.channel": pixels * sizes.in_c,
        f"{name}.output.dilated_h": pixels * outputs * (sizes.dilation_h > 1),
        f"{name}.output.dilated_w": pixels * outputs * (sizes.dilation_w > 1),
        **depthwise_s8.row_taps(f"{name}.tap", sizes, images * outputs),
        **depthwise_s8.met_windows(f"{name}.output", f"{name}.filter_row", sizes, images * outputs),
    }


def s4_opt(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1: columns of windows, four channels at a time.

    But on MVE, even and odd channel counts have separate loops.
    """
    if isa is Isa.MVE:
        return depthwise_s8.in_blocks("opt_s4", sizes, _opt_block)
    inside, odd = sizes.plane.inside, sizes.in_c % 2
    counts = {"opt_s4.copy": inside, **depthwise_s8.columns_of_windows("opt_s4", sizes, 1)}
    rows = counts["opt_s4.filter_row"]
    if isa is Isa.SCALAR:
        counts["opt_s4.copy.value"] = inside * sizes.in_c
    else:
        add(counts, widen("opt_s4.copy", inside, sizes.in_c))
    add(counts, library_block("opt_s4.fill", rows * sizes.filter_w - inside, 2 * sizes.in_c))
    for name, times in (("opt_s4.even", sizes.pixels * (1 - odd)), ("opt_s4.odd", sizes.pixels * odd)):
        add(counts, _columns(name, times, sizes.in_c, sizes.taps))
    return counts


def _columns(name: str, times: int, channels: int, taps: int) -> Counts:
    """Four channels by two taps, then an odd tap, then left-over channels."""
    four, rest = times * (channels // 4), times * (channels % 4)
    return {
        f"{name}.four.enter": times * (channels >= 4),
        f"{name}.four": four,
        f"{name}.four.two_taps": four * (taps // 2),
        f"{name}.four.two_taps.enter": four * (taps > 1),
        f"{name}.four.odd_tap": four * (taps % 2),
        f"{name}.rest.enter": times * (channels % 4 > 0),
        f"{name}.rest": rest,
        f"{name}.rest.tap": rest * taps,
        f"{name}.rest.even_taps": rest * (taps % 2 == 0),
    }


def _opt_block(sizes: LoopSizes, channels: int) -> Counts:
    vectors, odd = up(channels, 4), sizes.in_c % 2
    fours, left = divmod(sizes.pixels, 4)
    counts = depthwise_s8.gathered_windows("opt_s4", sizes, channels)
    for name, times in (("opt_s4.four", fours), ("opt_s4.left", left)):
        counts |= {
            name: times,
            f"{name}.vector": times * vectors,
            f"{name}.vector.odd": times * vectors * odd,
            f"{name}.tap": times * vectors * sizes.taps * (1 - odd),
            f"{name}.tap.odd": times * vectors * sizes.taps * odd,
        }
    return counts
