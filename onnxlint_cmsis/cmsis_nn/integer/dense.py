"""Fully connected layers, matrix products and recurrent layers: routes, scratch, cost."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import FILTER_C, PER_CHANNEL, TRUE, equal, unequal
from onnxlint_cmsis.cmsis_nn.loops import Counts, LoopSizes, add, by_rest, depth_on_dsp, library_fill, up
from onnxlint_cmsis.cmsis_nn.releases import V5_8
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, Branch, Origin, Wrapper, size, within
from onnxlint_cmsis.ground.types import Isa

# Scratch sizes of the fully connected layer: the kernel sums that MVE wants from 5.0.0 on.


_SIZE = "arm_fully_connected_s8_get_buffer_size"

FULLY_CONNECTED_S8 = (size(4 * FILTER_C, within(_SIZE, "5.0.0", MVE_ONLY)), size(0, within(_SIZE, V5_8)))


# arm_fully_connected_wrapper_s8: per channel or per tensor. Before 7.0.0 there is arm_fully_connected_s8 alone.


_FOLDER = "Source/FullyConnectedFunctions/"
_FILE = _FOLDER + "arm_fully_connected_wrapper_s8.c"
_FUNCTION = "arm_fully_connected_wrapper_s8"

FULLY_CONNECTED_S8_ROUTE = Wrapper(
    entry="fully_connected_s8",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_fully_connected_s8",
            equal(PER_CHANNEL, 0),
            Origin(
                _FOLDER + "arm_fully_connected_s8.c",
                "arm_fully_connected_s8",
                {V5_8: 0, "4.0.0": 50},
                until="7.0.0",
            ),
        ),
        Branch(
            "arm_fully_connected_per_channel_s8",
            unequal(PER_CHANNEL, 0),
            Origin(_FILE, _FUNCTION, {"7.0.0": 63, "main": 63}),
        ),
        Branch("arm_fully_connected_s8", TRUE, Origin(_FILE, _FUNCTION, {"7.0.0": 80, "main": 80})),
    ),
    sizes=FULLY_CONNECTED_S8,
    params="fc_params",
    absent="arm_fully_connected_s8 takes one scale for the whole tensor; per-channel scales came with 7.0.0",
)


# Fully connected layers: how often the loops of arm_nn_vec_mat_mult_t_s8 and arm_nn_vec_mat_mult_t_per_ch_s8 run.
#
# Sources: FullyConnectedFunctions/arm_fully_connected_s8.c and arm_fully_connected_per_channel_s8.c,
# NNSupportFunctions/arm_nn_vec_mat_mult_t_s8.c and arm_nn_vec_mat_mult_t_per_ch_s8.c.


OUTPUTS = {Isa.SCALAR: 3, Isa.DSP: 2, Isa.MVE: 4}
"""Outputs worked out together."""

UNROLLED = 8
"""Turns that gcc joins in the loop over the depth on dsp (`unroll-loops` in arm_nn_vec_mat_mult_t_s8.c)."""


def fully_connected_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row."""
    return {"fully_connected_s8": 1, **_products("vec_mat", sizes, isa, OUTPUTS[isa])}


def per_channel_s8(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row, with a scale for each output."""
    return {"fully_connected_per_channel_s8": 1, **_products("vec_mat_per_ch", sizes, isa, OUTPUTS[isa])}


def by_three(sizes: LoopSizes, isa: Isa) -> Counts:
    """One vector by matrix product for each input row on MVE before 5.0.0, three outputs together."""
    return {"fully_connected_s8": 1, **_products("vec_mat", sizes, isa, 3)}


def _products(name: str, sizes: LoopSizes, isa: Isa, together: int) -> Counts:
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


# Recurrent layers: how often the loops of the LSTM and of SVDF run.
#
# Sources (7.0.0): LSTMFunctions/arm_lstm_unidirectional_s8.c and _s16.c; NNSupportFunctions/arm_nn_lstm_step_s8.c,
# arm_nn_lstm_calculate_gate_s8_s16.c, arm_nn_vec_mat_mul_result_acc_s8_s16.c, those for s16, and
# arm_nn_vec_mat_mult_t_svdf_s8.c; SVDFunctions/arm_svdf_s8.c and arm_svdf_state_s16_s8.c.


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
    products = _products("svdf_s8.features", sizes._replace(out_c=features), isa, OUTPUTS[isa])
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
