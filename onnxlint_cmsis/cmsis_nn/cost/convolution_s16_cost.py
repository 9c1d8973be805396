"""Convolutions of 16-bit activations: how often the loops run. Biases have 64 bits.

Sources (7.0.0): ConvolutionFunctions/arm_convolve_s16.c, arm_nn_mat_mult_kernel_s16.c,
NNSupportFunctions/arm_nn_mat_mult_nt_t_s16.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.cost.memory import block
from onnxlint_cmsis.cmsis_nn.cost.plane import up
from onnxlint_cmsis.cmsis_nn.cost.size_columns import Counts, LoopSizes, add, by_rest
from onnxlint_cmsis.types import Isa

SHORT = 512
"""Most products that are summed in 32 bits: MAX_COL_COUNT in arm_nnsupportfunctions.h."""


def convolve_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """Columns of windows, two at a time (four on MVE), each group multiplied by all filters."""
    images, inside = sizes.n, sizes.plane.inside
    rows = sizes.plane.h.inside * sizes.out_w
    counts = {
        "convolve_s16": 1,
        "convolve_s16.image": images,
        "convolve_s16.row": images * sizes.out_h,
        "convolve_s16.pixel": images * sizes.pixels,
        "convolve_s16.filter_row": images * rows,
        "convolve_s16.filter_row.outside": images * (sizes.pixels * sizes.filter_h - rows),
        "convolve_s16.beside": images * (rows * sizes.filter_w - inside),
    }
    add(counts, block(isa, "convolve_s16.copy", images * inside, 2 * sizes.in_c))
    add(counts, block(isa, "convolve_s16.fill", images * (sizes.pixels * sizes.taps - inside), 2 * sizes.in_c))
    if isa is Isa.MVE:
        _rows_by_four(counts, sizes)
    else:
        pairs, odd = divmod(sizes.pixels, 2)
        add(counts, _two_columns(isa, images * pairs, sizes.depth, sizes.out_c))
        times = images * odd * sizes.out_c
        add(counts, {"column_s16": images * odd, **_depth(isa, "column_s16.channel", times, sizes.depth)})
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
