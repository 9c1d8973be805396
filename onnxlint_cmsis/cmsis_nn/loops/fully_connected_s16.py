"""Loops of fully connected layers in 16 bits (7.0.0: NNSupportFunctions/arm_nn_vec_mat_mult_t_s16.c)."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.convolve_s16 import beyond
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, by_rest
from onnxlint_cmsis.ground.types import Isa

OUTPUTS = {Isa.SCALAR: 1, Isa.DSP: 2, Isa.MVE: 4}
"""Outputs of a fully connected layer computed together."""


def fully_connected_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row. Sums have 64 bits beyond 512 products, on scalar always."""
    depth, (groups, rest) = sizes.in_c, divmod(sizes.out_c, OUTPUTS[isa])
    counts: Counts = {"fc_s16": 1, "fc_s16.row": sizes.n}
    counts |= {"fc_s16.group.enter": sizes.n * (groups > 0), "fc_s16.rest.enter": sizes.n * (rest > 0)}
    for name, outputs in (("fc_s16.group", sizes.n * groups), ("fc_s16.rest", sizes.n * rest)):
        counts[name] = outputs
        counts |= _sums(isa, name, outputs, depth)
    return counts


def _sums(isa: Isa, name: str, outputs: int, depth: int) -> Counts:
    if isa is Isa.SCALAR:
        return {f"{name}.depth": outputs * depth}
    long = beyond(depth)
    if isa is Isa.MVE:
        return {
            f"{name}.vector": outputs * up(depth - long, 8),
            f"{name}.long": outputs * long,
            f"{name}.long.enter": outputs * (long > 0),
        }
    blocks = (depth - long) // 4
    counts = {f"{name}.depth_4": outputs * blocks, f"{name}.depth_4.enter": outputs * (blocks > 0)}
    counts |= dict(by_rest(f"{name}.tail", outputs, depth - long, 4)[1:])
    return counts | {f"{name}.long": outputs * long, f"{name}.long.enter": outputs * (long > 0)}
