"""Loops of products of matrices of s8 and s16.

Sources (7.0.0): FullyConnectedFunctions/arm_batch_matmul_s8.c, arm_batch_matmul_s16.c and arm_vector_sum_s8.c,
NNSupportFunctions/arm_nn_vec_mat_mult_t_s8.c and arm_nn_vec_mat_mult_t_s16_s16.c.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.loops.fully_connected_s8 import OUTPUTS, vector_products
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.products import depth_on_dsp
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes
from onnxlint_cmsis.cmsis_nn.loops.without_bias import WORD
from onnxlint_cmsis.ground.types import Isa

WIDE_OUTPUTS: Mapping[Isa, int] = {Isa.SCALAR: 1, Isa.DSP: 2, Isa.MVE: 4}
"""Outputs of 16 bits worked out together."""
SUMMED = 5
"""Rows of the right matrix that arm_vector_sum_s8 adds up together on MVE."""


def batch_matmul_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """The vector by matrix product of a fully connected layer for each row on the left.

    MVE first adds up the rows of the right matrix. A zero-point of the right matrices takes other loops.
    """
    name, matrices = "batch_matmul_s8", sizes.out_n * sizes.out_h
    counts = _matrices(name, sizes)
    rows, (groups, rest) = matrices * sizes.in_w, divmod(sizes.out_c, OUTPUTS[isa])
    if sizes.weight_offset:
        counts |= _rows(f"{name}.offset", isa, rows, sizes, OUTPUTS[isa])
    else:
        counts |= vector_products("vec_mat", sizes._replace(n=rows), isa, OUTPUTS[isa])
        name += WORD
        counts |= {
            name: rows,
            f"{name}.group": rows * groups,
            f"{name}.group.enter": rows * (groups > 0),
            f"{name}.rest": rows * rest,
        }
    if isa is Isa.MVE:
        vectors = up(sizes.in_c, 16)
        fives, singles = matrices * (sizes.out_c // SUMMED), matrices * (sizes.out_c % SUMMED)
        counts |= {
            "batch_matmul_s8.clear": matrices * up(sizes.out_c, 4),
            "batch_matmul_s8.five": fives,
            "batch_matmul_s8.five.vector": fives * vectors,
            "batch_matmul_s8.one": singles,
            "batch_matmul_s8.one.vector": singles * vectors,
        }
    return counts


def batch_matmul_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """A vector by matrix for each row on the left, with sums of 64 bits."""
    name, rows = "batch_matmul_s16", sizes.out_n * sizes.out_h * sizes.in_w
    return _matrices(name, sizes) | _rows(name, isa, rows, sizes, WIDE_OUTPUTS[isa])


def _rows(name: str, isa: Isa, rows: int, sizes: LoopSizes, together: int) -> Counts:
    groups, rest = divmod(sizes.out_c, together)
    counts = {
        f"{name}.row": rows,
        f"{name}.groups.enter": rows * (groups > 0),
        f"{name}.rest.enter": rows * (rest > 0),
    }
    for loop, outputs in ((f"{name}.group", rows * groups), (f"{name}.rest", rows * rest)):
        counts[loop] = outputs
        if isa is Isa.DSP:
            counts |= depth_on_dsp(loop, outputs, sizes.in_c, 4)
        else:
            lanes = 1 if isa is Isa.SCALAR else 8 if name.endswith("s16") else 16
            counts[f"{loop}.depth"] = outputs * up(sizes.in_c, lanes)
    return counts


def _matrices(name: str, sizes: LoopSizes) -> Counts:
    return {f"{name}.call": 1, f"{name}.batch": sizes.out_n, f"{name}.matrix": sizes.out_n * sizes.out_h}
