"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.ground.types import Dims, KernelCall
from onnxlint_cmsis.runtimes.tflm.broken_conditions import PREPARE
from onnxlint_cmsis.runtimes.tflm.check_rows import REFERENCE, Row, asked_since, checks
from onnxlint_cmsis.runtimes.tflm.element_types import INT8
from onnxlint_cmsis.runtimes.tflm.kernel import in_file
from onnxlint_cmsis.runtimes.tflm.operands import DATA, OUTPUT, KernelOperand
from onnxlint_cmsis.runtimes.tflm.operator_conditions import given, inputs, outputs, typed, where
from onnxlint_cmsis.runtimes.tflm.operator_view import BITS, INTEGER, OperatorView, scale
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.rows import Condition, KernelLimit, Objection, condition
from onnxlint_cmsis.runtimes.tflm.shared_rows import FILTER, in_float
from onnxlint_cmsis.runtimes.tflm.windows import NO_FILTER

LSTM_GATES = 8
"""Four gates, each with the sums of its input weights and of its recurrent weights."""

TIMES, BIAS, STATE = (
    KernelOperand(2, "its weights of time"),
    KernelOperand(3, "its bias"),
    KernelOperand(4, "its state"),
)

HIDDEN, CELL = KernelOperand(18, "its hidden state"), KernelOperand(19, "its cell state")


def readable_svdf(view: OperatorView) -> Objection | None:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there."""
    if min(len(operand.of(view).shape) for operand in (DATA, FILTER, TIMES)) < 2 or view.option("rank") < 1:
        raise Unpredictable("an SVDF whose inputs have fewer than two dimensions, or whose rank is 0")
    return None


def bias_scale(view: OperatorView) -> Objection | None:
    """The bias has the scale of state times weights. Raises Unpredictable without a bias."""
    if view.input(3) is None:
        raise Unpredictable("an SVDF without a bias: the kernel reads the scale of one that is not there")
    step, wanted = scale(BIAS.of(view)), scale(STATE.of(view)) * scale(TIMES.of(view))
    return None if abs(step - wanted) < 1e-5 else f"its bias has scale {step:g}; {wanted:g} is taken"


def _svdf_rows(file: str, first: int) -> tuple[KernelLimit, ...]:
    """PrepareSvdf, which both builds have alike; `first` is the line of its first check."""

    def row(line: int, condition: Condition) -> KernelLimit:
        return Row(f"{file}:{first + line}", PREPARE, condition)

    return (
        *(row(line, given(operand)) for line, operand in ((0, DATA), (3, FILTER), (6, TIMES), (11, STATE))),
        row(15, readable_svdf),
        row(18, lambda v: f"{FILTER.of(v).shape[0]} filters are no multiple of its rank {v.option('rank')}"
            if FILTER.of(v).shape[0] % v.option("rank") else ""),
        row(23, typed(DATA, "FLOAT32", "INT8")),
        row(32, given(OUTPUT)),
        row(57, lambda v: "" if STATE.of(v).is_variable else "its state is no variable"),
        row(59, inputs(5)),
        row(85, where(DATA, INT8, bias_scale)),
    )  # fmt: skip


SVDF, SVDF_PLAIN = (
    (*_svdf_rows("cmsis_nn/svdf.cc", 75), in_float("cmsis_nn/svdf.cc:391")._replace(layer=None)),
    _svdf_rows("svdf_common.cc", 379),
)


def prepare_svdf(p: Preparation) -> None:
    """Kernel sums: kept for good with SPEED, worked out in each run with SIZE, which needs a buffer to be there."""
    batch, shape = DATA.of(p.view).shape[0], FILTER.of(p.view).shape
    p.request(4 * batch * shape[0])
    if DATA.of(p.view).elem_type == "INT8":
        p.request(4 * batch * (shape[0] // p.view.option("rank")))
    if p.reference:
        return
    filters = Dims(shape[0], TIMES.of(p.view).shape[1], 1, shape[1])
    units = shape[0] // p.view.option("rank")
    call = KernelCall("svdf_s8", Dims(batch, 1, 1, shape[1]), filters, Dims(batch, 1, 1, units))
    sums = max(p.routed(call).buffer_size or 0, 0)
    if sums and p.build.speed:
        if not p.view.constant(FILTER.of(p.view)):
            raise Refused(
                "its filter is computed; a constant alone is taken (micro/kernels/cmsis_nn/svdf.cc:196)", Stage.PREPARE
            )
        p.persistent.append(sums)
    elif sums:
        p.request(sums)
    if TIMES.of(p.view).elem_type == "INT16":
        p.runs("arm_svdf_state_s16_s8", call._replace(entry="svdf_state_s16_s8"))
        return
    if not p.build.speed and sums:
        p.functions.append("arm_vector_sum_s8")
    elif not p.build.speed:
        p.fails = Refused("there is no scratch buffer for its sums (micro/kernels/cmsis_nn/svdf.cc:320)", Stage.INVOKE)
    p.runs("arm_svdf_s8", call)


@condition
def constants(view: OperatorView, *positions: int) -> Objection | None:
    """The file holds some inputs."""
    computed = [position for position in positions if not view.constant(view.input(position))]
    return f"input {computed[0]} is computed; a constant alone is taken" if computed else None


@condition
def readable_lstm(view: OperatorView, *operands: KernelOperand) -> Objection | None:
    """Shapes that the kernel reads unseen. Raises Unpredictable where a size is not there."""
    shapes = [operand.of(view).shape for operand in operands]
    if min(map(len, shapes)) < 2:
        raise Unpredictable(f"shapes {' and '.join(str(list(shape)) for shape in shapes)} of input and hidden state")
    return None


LSTM = in_file(
    "cmsis_nn/unidirectional_sequence_lstm.cc",
    {337: outputs, 338: inputs(24)},
    *(Row(":350", PREPARE, given(operand)) for operand in (DATA, HIDDEN, CELL)),
    *asked_since("2025-10-17", Row(":355", PREPARE, constants(*range(1, 9))),
                 Row(":360", PREPARE, constants(*range(12, 16)))),
    {
        390: typed(CELL, "FLOAT32", "INT16"),
        373: readable_lstm(DATA, HIDDEN),
    },
    Row(":438", REFERENCE, lambda v: "" if DATA.of(v).elem_type in INTEGER and CELL.of(v).elem_type == "INT16" else
        "float", cause="float"),
)  # fmt: skip

LSTM_PLAIN = in_file(
    "unidirectional_sequence_lstm.cc",
    {45: outputs, 46: inputs(24)},
    *checks("lstm_eval.cc", {60: given(HIDDEN), 67: given(CELL)}),
    {81: typed(CELL, "FLOAT32", "INT16"), 63: readable_lstm(HIDDEN)},
)


def prepare_states(p: Preparation, count: int) -> None:
    """Ask for so many states of the size of the hidden state."""
    shape = HIDDEN.of(p.view).shape
    for _ in range(count):
        p.request(shape[0] * shape[1] * BITS[CELL.of(p.view).elem_type] // 8)


def prepare_lstm(p: Preparation) -> None:
    """Ask for the states and the scratch of an LSTM, and note the function that Eval calls."""
    data, (batch, width) = DATA.of(p.view), HIDDEN.of(p.view).shape[:2]
    if not p.reference:
        p.persistent += [(4 if data.elem_type == "INT8" else 8) * width] * LSTM_GATES
    prepare_states(p, 4 if p.reference else 3)
    entry = f"lstm_unidirectional_{'s8' if data.elem_type == 'INT8' else 's16'}"
    features, steps = data.shape[-1], prod(data.shape[:-1]) // max(batch, 1)
    call = KernelCall(entry, Dims(batch, 1, steps, features), NO_FILTER, Dims(batch, 1, steps, width))
    p.runs(f"arm_{entry}", call._replace(time_major=bool(p.view.option("time_major"))))
