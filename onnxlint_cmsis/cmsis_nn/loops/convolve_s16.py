"""Loops of convolutions of 16-bit activations, whose biases have 64 bits.

Sources (7.0.0): ConvolutionFunctions/arm_convolve_s16.c, arm_nn_mat_mult_kernel_s16.c,
NNSupportFunctions/arm_nn_mat_mult_nt_t_s16.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.memory import block, copy_in_c, library_copy, library_fill
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import SHORT, Counts, LoopSizes, add, by_rest
from onnxlint_cmsis.cmsis_nn.loops.weights_s4 import tap_copies
from onnxlint_cmsis.ground.types import Isa


def convolve_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """Columns of windows, two at a time (four on MVE), each group multiplied by all filters."""
    images, inside = sizes.n, sizes.plane.inside
    counts = {"convolve_s16": 1, **tap_copies("convolve_s16", sizes)}
    if isa is Isa.MVE:
        add(counts, block(isa, "convolve_s16.copy", images * inside, 2 * sizes.in_c))
        add(counts, block(isa, "convolve_s16.fill", images * (sizes.pixels * sizes.taps - inside), 2 * sizes.in_c))
        _rows_by_four(counts, sizes)
    else:
        add(counts, _half_words(sizes))
        pairs, odd = divmod(sizes.pixels, 2)
        add(counts, _two_columns(isa, images * pairs, sizes.depth, sizes.out_c))
        times = images * odd * sizes.out_c
        add(counts, {"column_s16": images * odd, **_depth(isa, "column_s16.channel", times, sizes.depth)})
    return counts


def _half_words(sizes: LoopSizes) -> Counts:
    """Copies and fills of taps on scalar and dsp; with an odd number of channels odd places are not those of words."""
    counts: Counts = {}
    copy = copy_in_c if sizes.aligned else library_copy
    size, odd, pairs, places = 2 * sizes.in_c, sizes.in_c % 2, sizes.pixels // 2, sizes.odd_places
    shifted = sizes.n // 2 * (sizes.in_h * sizes.in_w % 2)  # images that begin in an odd place
    all_odd = (sizes.pixels - pairs) * (sizes.taps // 2) + pairs * up(sizes.taps, 2)
    for target, taps in ((0, sizes.pixels * sizes.taps - all_odd), (1, all_odd)):
        outside = sizes.n * (taps - places[0][target] - places[1][target])
        add(counts, library_fill("convolve_s16.fill", outside, size, 2 * target * odd))
        for source in (0, 1):
            inside = (sizes.n - shifted) * places[source][target] + shifted * places[1 - source][target]
            add(counts, copy("convolve_s16.copy", inside, size, 2 * source * odd, 2 * target * odd))
    return counts


def _two_columns(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_kernel_s16; products of an output beyond 512 are summed in 64 bits."""
    long = beyond(depth)
    counts: Counts = {"kernel_s16.call": calls, "kernel_s16.pairs.enter": calls * (channels > 1)}
    for name, times in (("kernel_s16.pair", calls * (channels // 2)), ("kernel_s16.odd", calls * (channels % 2))):
        counts |= _depth(isa, name, times, depth - long)
        counts |= {f"{name}.long": times * long, f"{name}.long.enter": times * (long > 0)}
    return counts


def _depth(isa: Isa, name: str, times: int, depth: int) -> Counts:
    """The loop over the depth: one at a time on scalar, by 4 and 1 on dsp."""
    if isa is Isa.SCALAR:
        return {name: times, f"{name}.depth": times * depth}
    counts = {name: times, f"{name}.depth_4": times * (depth // 4), f"{name}.depth_4.enter": times * (depth >= 4)}
    return counts | dict(by_rest(name, times, depth, 4, "tail")[1:])


def _rows_by_four(counts: Counts, sizes: LoopSizes) -> None:
    """Calls of arm_nn_mat_mult_nt_t_s16: four rows at a time for each channel, then single rows."""
    fours, left = divmod(sizes.pixels, 4)
    long = beyond(sizes.depth)
    short = sizes.depth - long
    counts["nt_t_s16.call"] = sizes.n * (fours + (left > 0))
    for name, rows, lanes in (("nt_t_s16.four", sizes.n * fours, 8), ("nt_t_s16.single", sizes.n * left, 4)):
        outputs = rows * sizes.out_c
        counts |= {
            name: rows,
            f"{name}.channel": outputs,
            f"{name}.vector": outputs * up(short, lanes),
            f"{name}.long": outputs * long,
            f"{name}.long.enter": outputs * (long > 0),
        }


def beyond(depth: int) -> int:
    """Products of an output that are summed in 64 bits."""
    return (depth - SHORT) * (depth > SHORT)
