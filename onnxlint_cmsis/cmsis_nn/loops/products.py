"""Loops of the support functions for matrix products.

Sources (7.0.0): NNSupportFunctions/arm_nn_mat_mult_nt_t_s8.c, arm_nn_vec_mat_mult_t_s8.c,
ConvolutionFunctions/arm_nn_mat_mult_kernel_s8_s16.c and the left-over column of arm_convolve_s8.c.
A loop counts its turns and, under `.enter`, how often it is entered at all: setting one up costs instructions too.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, by_rest
from onnxlint_cmsis.ground.types import Isa


def nt_t_s8(isa: Isa, calls: int, rows: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_nt_t_s8: rows x depth by depth x channels."""
    if isa is Isa.MVE:
        return _nt_t_mve(calls, rows, depth, channels)
    pairs, odd = divmod(channels, 2)
    counts = {
        "nt_t.call": calls,
        "nt_t.pairs.enter": calls * (pairs > 0),
        "nt_t.pair": calls * pairs,
        "nt_t.pair.sum": calls * pairs * depth,
        "nt_t.rows.enter": calls * pairs * (rows > 1),
        "nt_t.odd": calls * odd,
        "nt_t.odd.row": calls * odd * rows,
        "nt_t.odd.depth": calls * odd * rows * depth,
    }
    for name, times in (("nt_t.2x2", calls * pairs * (rows // 2)), ("nt_t.1x2", calls * pairs * (rows % 2))):
        counts[name] = times
        counts |= _depth(isa, name, times, depth, 16)
    return counts


def _nt_t_mve(calls: int, rows: int, depth: int, channels: int) -> Counts:
    """Four rows at a time for each channel, then single rows that requantize four channels at a time."""
    fours, single = divmod(rows, 4)
    vectors, tail = up(depth, 16), channels % 4
    single *= calls
    return {
        "nt_t.call": calls,
        "nt_t.fours.enter": calls * (fours > 0),
        "nt_t.four": calls * fours,
        "nt_t.four.channel": calls * fours * channels,
        "nt_t.four.vector": calls * fours * channels * vectors,
        "nt_t.singles.enter": calls * (rows % 4 > 0),
        "nt_t.single": single,
        "nt_t.single.channel": single * channels,
        "nt_t.single.vector": single * channels * vectors,
        "nt_t.single.four_channels": single * (channels // 4),
        "nt_t.single.tail.enter": single * (tail > 0),
        "nt_t.single.tail": single * tail,
    }


def kernel_s8_s16(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_kernel_s8_s16: two columns by `channels` filters."""
    pairs, odd = calls * (channels // 2), calls * (channels % 2)
    return {
        "s8_s16.call": calls,
        "s8_s16.pairs.enter": calls * (channels > 1),
        "s8_s16.pair": pairs,
        "s8_s16.odd": odd,
        **_depth(isa, "s8_s16.pair", pairs, depth, 4),
        **_depth(isa, "s8_s16.odd", odd, depth, 4),
    }


def single_column(isa: Isa, columns: int, depth: int, channels: int) -> Counts:
    """The left-over column of arm_convolve_s8, one channel after the other."""
    times = columns * channels
    return {"column": columns, "column.channel": times, **_depth(isa, "column.channel", times, depth, 4)}


def _depth(isa: Isa, name: str, times: int, depth: int, widest: int) -> Counts:
    """The loop over the depth: one at a time on scalar, by `widest`, 4 and 1 on dsp."""
    if isa is Isa.SCALAR:
        return {f"{name}.depth": times * depth}
    return depth_on_dsp(name, times, depth, widest)


def depth_on_dsp(name: str, times: int, depth: int, widest: int) -> Counts:
    """The loop over the depth on dsp: by `widest`, then by 4, then one after the other."""
    counts = dict(by_rest(name, times, depth, 4, "tail")[1:])
    blocks = depth
    if widest > 4:
        counts[f"{name}.depth_{widest}"] = times * (depth // widest)
        counts[f"{name}.depth_{widest}.enter"] = times * (depth >= widest)
        blocks = depth % widest
    counts[f"{name}.depth_4"] = times * (blocks // 4)
    counts[f"{name}.depth_4.enter"] = times * (blocks >= 4)
    return counts


def core_4x_s8(calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mul_core_4x_s8 (MVE, 4.0.0): four columns by `channels` filters."""
    times = calls * channels
    return {"core_4x": calls, "core_4x.channel": times, "core_4x.vector": times * up(depth, 16)}


def core_1x_s8(calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mul_core_1x_s8 (MVE, up to 5.0.0): one column by four filters at a time."""
    four, single, vectors = calls * (channels // 4), calls * (channels % 4), up(depth, 16)
    return {
        "core_1x": calls,
        "core_1x.four": four,
        "core_1x.four.vector": four * vectors,
        "core_1x.tail": calls * (channels % 4 > 0),
        "core_1x.single": single,
        "core_1x.single.vector": single * vectors,
    }


def mat_mult_s8(calls: int, columns: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_s8 (MVE, 4.0.0): four columns together, fewer one at a time, depth by 8."""
    vectors = up(depth, 8)
    if columns == 4:
        times = calls * channels
        return {"mat_mult": calls, "mat_mult.four": times, "mat_mult.four.vector": times * vectors}
    times = calls * columns * channels
    return {
        "mat_mult": calls,
        "mat_mult.column": calls * columns,
        "mat_mult.single": times,
        "mat_mult.single.vector": times * vectors,
    }
