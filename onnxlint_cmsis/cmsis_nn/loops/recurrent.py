"""Loops of the LSTM and of SVDF.

Sources (7.0.0): LSTMFunctions/arm_lstm_unidirectional_s8.c and _s16.c; NNSupportFunctions/arm_nn_lstm_step_s8.c,
arm_nn_lstm_calculate_gate_s8_s16.c, arm_nn_vec_mat_mul_result_acc_s8_s16.c, those for s16, and
arm_nn_vec_mat_mult_t_svdf_s8.c; SVDFunctions/arm_svdf_s8.c and arm_svdf_state_s16_s8.c.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.loops.fully_connected_s8 import OUTPUTS, vector_products
from onnxlint_cmsis.cmsis_nn.loops.memory import library_fill
from onnxlint_cmsis.cmsis_nn.loops.plane import up
from onnxlint_cmsis.cmsis_nn.loops.products import depth_on_dsp
from onnxlint_cmsis.cmsis_nn.loops.sizes import Counts, LoopSizes, add, by_rest
from onnxlint_cmsis.ground.types import Isa

GATES = 4
"""Input, forget, cell and output."""
FAST_COLUMNS = 512
"""Columns that arm_nn_vec_mat_mul_result_acc_s16 adds up in 32 bits (MAX_COL_COUNT); beyond, one after the other."""
LSTM_ROWS = {"lstm_s8": OUTPUTS, "lstm_s16": {Isa.SCALAR: 1, Isa.DSP: 2, Isa.MVE: 4}}
"""Units whose sums are worked out together."""


def lstm_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """All sequences step by step. Time lies along the width; the first step has no hidden state to multiply."""
    return _lstm("lstm_s8", sizes, isa, 1, sizes.n)


def lstm_s8_by_sequence(sizes: LoopSizes, isa: Isa) -> Counts:
    """From main on one sequence after the other, unless time is the first axis."""
    return lstm_s8(sizes, isa) if sizes.time_major else _lstm("lstm_s8", sizes, isa, sizes.n, 1)


def lstm_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """As lstm_s8, in 16 bits."""
    return _lstm("lstm_s16", sizes, isa, 1, sizes.n)


def lstm_s16_by_sequence(sizes: LoopSizes, isa: Isa) -> Counts:
    """As lstm_s8_by_sequence, in 16 bits."""
    return lstm_s16(sizes, isa) if sizes.time_major else _lstm("lstm_s16", sizes, isa, sizes.n, 1)


def _lstm(name: str, sizes: LoopSizes, isa: Isa, passes: int, batch: int) -> Counts:
    """`passes` over the time, each with `batch` sequences."""
    steps, units = sizes.in_w, sizes.out_c
    states = batch * units
    step = {
        f"{name}.step": 1,
        f"{name}.state": states,
        f"{name}.odd_state": states % 2,
        f"{name}.batch": batch,
        f"{name}.batch.odd_unit": batch * (units % 2),
    }
    if isa is Isa.MVE:
        step[f"{name}.four_states"] = up(states, 4)
        step[f"{name}.batch.four_units"] = batch * up(units, 4)
    add(step, library_fill(f"{name}.clear", GATES, 2 * states, 0))
    add(step, _gate_products(f"{name}.gate", isa, GATES * batch, sizes.in_c, (units, LSTM_ROWS[name][isa])))
    recurrent = _gate_products(f"{name}.gate", isa, GATES * batch, units, (units, LSTM_ROWS[name][isa]))
    counts = {name: 1, f"{name}.pass": passes, f"{name}.batch_major": passes * (not sizes.time_major)}
    add(counts, library_fill(f"{name}.clear", 1, 2 * sizes.n * units, 0))
    add(counts, step, passes * steps)
    add(counts, recurrent, passes * (steps - 1))
    counts[f"{name}.recurrent_step"] = passes * (steps - 1)
    return counts


def _gate_products(name: str, isa: Isa, calls: int, depth: int, rows: tuple[int, int]) -> Counts:
    """Vector by matrix: `rows` are those of the matrix, and how many are worked out together."""
    count, together = rows
    groups, rest = divmod(count, together)
    counts = {
        name: calls,
        f"{name}.groups.enter": calls * (groups > 0),
        f"{name}.singles.enter": calls * (rest > 0),
    }
    sixteen = name.startswith("lstm_s16") and isa is not Isa.SCALAR
    beyond = (depth - FAST_COLUMNS) * (depth > FAST_COLUMNS) * sixteen
    for loop, times in ((f"{name}.group", calls * groups), (f"{name}.single", calls * rest)):
        counts[loop] = times
        if isa is Isa.SCALAR:
            counts[f"{loop}.depth"] = times * depth
        elif isa is Isa.DSP:
            counts |= depth_on_dsp(loop, times, depth - beyond, 4)
        else:
            vectors = up(depth - beyond, 8 if sixteen else 16)
            counts[f"{loop}.vector"] = times * vectors
        counts[f"{loop}.beyond"] = times * beyond
        counts[f"{loop}.beyond.enter"] = times * (beyond > 0)
    return counts


def svdf_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """The filter has the memory along its height: [features, memory, 1, inputs], rank features for each output."""
    features = sizes.filter_n
    counts = _svdf("svdf_s8", sizes, isa, 1)
    products = vector_products("svdf_s8.features", sizes._replace(out_c=features), isa, OUTPUTS[isa])
    return counts | products


def svdf_state_s16(sizes: LoopSizes, isa: Isa) -> Counts:
    """As svdf_s8, with a memory of 16 bits."""
    name, features, depth = "svdf_s16.features", sizes.filter_n, sizes.in_c
    groups, rest = divmod(features, {Isa.SCALAR: 3, Isa.DSP: 2, Isa.MVE: 3}[isa])
    counts = _svdf("svdf_s16", sizes, isa, 2)
    counts |= {
        name: sizes.n,
        f"{name}.groups.enter": sizes.n * (groups > 0),
        f"{name}.singles.enter": sizes.n * (rest > 0),
    }
    for loop, outputs, widest in ((f"{name}.group", groups, 16), (f"{name}.single", rest, 4)):
        times = sizes.n * outputs
        counts[loop] = times
        if isa is Isa.SCALAR:
            counts[f"{loop}.depth"] = times * depth
        elif isa is Isa.DSP:
            counts |= depth_on_dsp(loop, times, depth, widest)
        else:
            counts[f"{loop}.vector"] = times * up(depth, 16)
    return counts


def _svdf(name: str, sizes: LoopSizes, isa: Isa, width: int) -> Counts:
    """What both have beside the product of input and features: the memory moves on, is weighted, and is summed."""
    batch, features, memory, units = sizes.n, sizes.filter_n, sizes.filter_h, sizes.out_c
    filters, results = batch * features, batch * units
    moved = (filters * memory - 1) * width
    ranked = features > units
    counts = {
        name: 1,
        f"{name}.batch": batch,
        f"{name}.moved": moved,
        f"{name}.filter": filters,
        f"{name}.unit": results * ranked,
        f"{name}.unit.filter": filters * ranked,
        f"{name}.flat": filters * (1 - ranked),
    }
    if isa is Isa.MVE:
        return counts | {
            f"{name}.moved.vector": up(moved, 16),
            f"{name}.result.four": up(results, 4),
            f"{name}.memory": filters * memory,
        }
    counts[f"{name}.result"] = results
    if isa is Isa.SCALAR:
        return counts | {f"{name}.memory": filters * memory}
    by = 4 // width
    return counts | {
        f"{name}.memory.block": filters * (memory // by),
        f"{name}.memory.block.enter": filters * (memory >= by),
        **dict(by_rest(f"{name}.memory", filters, memory, by)[1:]),
    }
