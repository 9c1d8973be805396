"""Loops of the support functions for matrix products with 4-bit weights, two in a byte.

Sources (7.0.0): NNSupportFunctions/arm_nn_mat_mult_nt_t_s4.c, arm_nn_mat_mult_nt_interleaved_t_even_s4.c,
arm_nn_mat_mul_core_1x_s4.c, arm_nn_vec_mat_mult_t_s4.c and ConvolutionFunctions/arm_nn_mat_mult_kernel_s4_s16.c.
Where the depth is odd, a weight of every second channel lies in the byte of the channel before.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.products import depth_on_dsp
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts
from onnxlint_cmsis.ground.types import Isa


def nt_t_s4(isa: Isa, calls: int, rows: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_nt_t_s4: rows x depth by depth x channels."""
    if isa is Isa.MVE:
        return _rows_mve("nt_t_s4", (calls, rows), depth, channels, {4: 16, 3: 16, 2: 32, 1: 32})
    quads, rest = calls * (channels // 4), calls * (channels % 4)
    counts = {
        "nt_t_s4.call": calls,
        "nt_t_s4.quads.enter": calls * (channels >= 4),
        "nt_t_s4.quad": quads,
        "nt_t_s4.quad.pairs": quads * (rows > 1),
        "nt_t_s4.rest": rest,
        "nt_t_s4.rest.pairs": rest * (rows > 1),
        "nt_t_s4.rest.crossing": calls * (channels % 4 > 1) * (depth % 2),
    }
    for row, count in (("pair", calls * (rows // 2)), ("single", calls * (rows % 2))):
        counts |= _channel_pieces(isa, f"nt_t_s4.{row}", count, depth, channels)
    return counts


def even_s4(calls: int, rows: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_nt_interleaved_t_even_s4 on MVE: an even depth."""
    return _rows_mve("even_s4", (calls, rows), depth, channels, dict.fromkeys((4, 3, 2, 1), 32))


def _rows_mve(name: str, work: tuple[int, int], depth: int, channels: int, widths: dict[int, int]) -> Counts:
    """Calls on MVE: four rows together, then three, two or one, in blocks of a width."""
    calls, rows = work
    counts: Counts = {f"{name}.call": calls, f"{name}.fours.enter": calls * (rows >= 4)}
    for together, width in widths.items():
        groups = calls * (rows // 4 if together == 4 else rows % 4 == together)
        outputs = groups * channels
        crossing = groups * (channels // 2) * (depth % 2)
        word = f"{name}.rows_{together}"
        counts |= {
            word: groups,
            f"{word}.channel": outputs,
            f"{word}.crossing": crossing,
            f"{word}.block": outputs * (depth // width),
            f"{word}.block.enter": outputs * (depth >= width),
            f"{word}.half": outputs * (depth % 32 // 16) * (width == 32),
            f"{word}.rest": (outputs - crossing) * (depth % 16 > 0) + crossing * (depth % 16 > 1),
        }
        if together == 1:
            counts[f"{word}.four_channels"] = groups * (channels // 4)
            counts[f"{word}.tail"] = groups * (channels % 4)
            counts[f"{word}.tail.enter"] = groups * (channels % 4 > 0)
    return counts


def kernel_s4_s16(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mult_kernel_s4_s16: two columns by `channels` filters."""
    return {"s4_s16.call": calls, **_channel_pieces(isa, "s4_s16", calls, depth, channels)}


def single_column_s4(isa: Isa, columns: int, depth: int, channels: int) -> Counts:
    """The left-over column of arm_convolve_s4, one channel after the other."""
    times = columns * channels
    crossing = columns * (channels // 2) * (depth % 2)
    return {
        "column_s4": columns,
        **_parts(isa, "column_s4.channel", times - crossing, depth, 4),
        **_parts(isa, "column_s4.crossing", crossing, depth, 4),
    }


def core_1x_s4(calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_mat_mul_core_1x_s4 on MVE: one column, four outputs written together."""
    return {
        "core_1x_s4": calls,
        "core_1x_s4.channel": calls * channels,
        "core_1x_s4.vector": calls * channels * up(depth, 16),
        "core_1x_s4.four_channels": calls * (channels // 4),
        "core_1x_s4.tail": calls * (channels % 4),
        "core_1x_s4.tail.enter": calls * (channels % 4 > 0),
    }


def vec_mat_t_s4(isa: Isa, calls: int, depth: int, channels: int) -> Counts:
    """`calls` calls of arm_nn_vec_mat_mult_t_s4: four outputs in two pairs, then single ones."""
    counts: Counts = {
        "vec_mat_s4": calls,
        "vec_mat_s4.quad.enter": calls * (channels >= 4),
        "vec_mat_s4.rest.enter": calls * (channels % 4 > 0),
    }
    if isa is not Isa.MVE:
        return counts | _channel_pieces(isa, "vec_mat_s4", calls, depth, channels)
    for name, times in _turns("vec_mat_s4", calls, depth, channels):
        counts |= {
            name: times,
            f"{name}.block": times * (depth // 32),
            f"{name}.block.enter": times * (depth >= 32),
            f"{name}.half": times * (depth % 32 // 16),
            f"{name}.tail": times * (depth % 16 > 0),
            f"{name}.two": times * (depth % 16 // 2),
            f"{name}.two.enter": times * (depth % 16 > 1),
        }
    return counts


def _turns(name: str, times: int, depth: int, channels: int) -> tuple[tuple[str, int], ...]:
    """Turns over four channels and over single ones; even depths, and each nibble of odd ones, have their loops."""
    quads, rest, odd = times * (channels // 4), channels % 4, depth % 2
    second = times * (rest > 1)
    return (
        (f"{name}.quad.even", quads * (1 - odd)),
        (f"{name}.quad.odd", quads * odd),
        (f"{name}.rest.even", times * rest * (1 - odd)),
        (f"{name}.rest.odd", (times * rest - second) * odd),
        (f"{name}.rest.crossing", second * odd),
    )


def _channel_pieces(isa: Isa, name: str, times: int, depth: int, channels: int) -> Counts:
    """The loops over the depth for each of the turns over channels."""
    counts: Counts = {}
    widest = 16 if name.startswith("nt_t_s4") else 4
    for word, turns in _turns(name, times, depth, channels):
        counts |= _parts(isa, word, turns, depth, widest)
    return counts


def _parts(isa: Isa, name: str, times: int, depth: int, widest: int) -> Counts:
    """One loop over the depth: by two on scalar, by `widest`, 4 and less on dsp."""
    counts: Counts = {name: times}
    if isa is Isa.SCALAR:
        return counts | {f"{name}.two": times * (depth // 2), f"{name}.two.enter": times * (depth > 1)}
    return counts | depth_on_dsp(name, times, depth, widest)
