"""Loops of fully connected layers.

Sources: FullyConnectedFunctions/arm_fully_connected_s8.c and arm_fully_connected_per_channel_s8.c,
NNSupportFunctions/arm_nn_vec_mat_mult_t_s8.c and arm_nn_vec_mat_mult_t_per_ch_s8.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, by_rest
from onnxlint_cmsis.ground.types import Isa

OUTPUTS = {Isa.SCALAR: 3, Isa.DSP: 2, Isa.MVE: 4}
"""Outputs worked out together."""
UNROLLED = 8
"""Turns that gcc joins in the loop over the depth on dsp (`unroll-loops` in arm_nn_vec_mat_mult_t_s8.c)."""


def fully_connected_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row."""
    return {"fully_connected_s8": 1, **vector_products("vec_mat", sizes, isa, OUTPUTS[isa])}


def per_channel_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row, with a scale for each output."""
    return {"fully_connected_per_channel_s8": 1, **vector_products("vec_mat_per_ch", sizes, isa, OUTPUTS[isa])}


def by_three(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row on MVE before 5.0.0, three outputs together."""
    return {"fully_connected_s8": 1, **vector_products("vec_mat", sizes, isa, 3)}


def vector_products(name: str, sizes: LoopSizes, isa: Isa, together: int) -> Counts:
    """One vector by a matrix for each input row, `together` outputs at a time."""
    groups, rest = divmod(sizes.out_c, together)
    counts = {
        name: sizes.n,
        f"{name}.groups.enter": sizes.n * (groups > 0),
        f"{name}.singles.enter": sizes.n * (rest > 0),
    }
    for loop, outputs in ((f"{name}.group", groups), (f"{name}.single", rest)):
        counts |= _output(isa, loop, sizes.n * outputs, sizes.in_c)
    return counts


def _output(isa: Isa, name: str, times: int, depth: int) -> Counts:
    if isa is Isa.MVE:
        vectors = up(depth, 16)
        return {  # in 5.0.0 and 6.0.0 gcc joins two turns
            name: times,
            f"{name}.two_vectors": times * (vectors // 2),
            f"{name}.odd_vector": times * (vectors % 2),
            f"{name}.from_2": times * (vectors >= 2),
            f"{name}.from_3": times * (vectors >= 3),
        }
    if isa is Isa.SCALAR:
        return {name: times, f"{name}.depth": times * depth}
    blocks = depth // 4
    counts = {
        name: times,
        f"{name}.depth_4": times * blocks,
        f"{name}.depth_4.enter": times * (blocks > 0),
        f"{name}.unrolled": times * (blocks // UNROLLED),
        f"{name}.unrolled.enter": times * (blocks >= UNROLLED),
    }
    counts |= dict(by_rest(name, times, blocks, UNROLLED)[1:])
    return counts | dict(by_rest(name, times, depth, 4, "tail")[1:])
