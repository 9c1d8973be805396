"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.geometry import NO_FILTER
from onnxlint_cmsis.runtimes.tflm.operator_view import BITS, scale
from onnxlint_cmsis.runtimes.tflm.preparation import K, Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.types import Dims, KernelCall

LSTM_GATES = 8
"""Four gates, each with the sums of its input weights and of its recurrent weights."""


def svdf(p: Preparation) -> None:
    """K/cmsis_nn/svdf.cc, Prepare and EvalIntegerSVDF."""
    file = "cmsis_nn/svdf.cc"
    data = p.needed_input(0, f"{file}:74", "input")
    features = p.needed_input(1, f"{file}:77", "weights_feature")
    times = p.needed_input(2, f"{file}:80", "weights_time")
    state = p.needed_input(4, f"{file}:85", "activation_state")
    if min(map(len, (data.shape, features.shape, times.shape))) < 2 or p.view.option("rank") < 1:
        raise Unpredictable("an SVDF whose inputs have fewer than two dimensions, or whose rank is 0")
    batch, filters, rank = data.shape[0], features.shape[0], p.view.option("rank")
    p.ensure_equal(filters % rank, 0, f"{file}:92", ("num_filters % rank", "0"))
    taken = "input->type == kTfLiteFloat32 || input->type == kTfLiteInt8"
    p.ensure(data.elem_type in ("FLOAT32", "INT8"), f"{file}:97", taken)
    p.needed_output(f"{file}:106")
    p.ensure_equal(int(state.is_variable), 1, f"{file}:132", ("activation_state->is_variable", "true"))
    p.ensure_equal(len(p.view.operator.inputs), 5, f"{file}:134", ("node->inputs->size", "5"))
    p.request(4 * batch * filters)
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    _svdf_scales(p, state, times, file)
    p.request(4 * batch * (filters // rank))
    _svdf_sums(p, features, times, file)


def _svdf_scales(p: Preparation, state: TfliteTensor, times: TfliteTensor, file: str) -> None:
    bias = p.view.input(3)
    if bias is None:
        raise Unpredictable("an SVDF without a bias: the kernel reads the scale of one that is not there")
    close = abs(scale(bias) - scale(state) * scale(times)) < 1e-5
    condition = (
        "std::abs(static_cast<double>(bias->params.scale) - static_cast<double>(activation_state->params.scale * "
        "weights_time->params.scale)) < 1e-5"
    )
    p.ensure(close, f"{file}:160", condition)


def _svdf_sums(p: Preparation, features: TfliteTensor, times: TfliteTensor, file: str) -> None:
    """Kernel sums: kept for good with SPEED, worked out in each run with SIZE, which needs a buffer to be there."""
    dims = Dims(features.shape[0], features.shape[1], 1, 1)
    call = KernelCall("svdf_s8", dims, dims, dims)
    sums = max(p.routed(call).buffer_size or 0, 0)
    if sums and p.build.speed:
        p.ensure(p.view.constant(features), f"{file}:196", "IsConstantTensor(weights_feature)")
        p.persistent.append(sums)
    elif sums:
        p.request(sums)
    if times.elem_type == "INT16":
        p.runs("arm_svdf_state_s16_s8", call._replace(entry="svdf_state_s16_s8"))
        return
    if not p.build.speed:
        if not sums:
            text = f"{K}{file}:320 data.scratch_weight_tensor_index != -1 was not true."
            p.fails = Refused(text, Stage.INVOKE)
            return
        p.functions.append("arm_vector_sum_s8")
    p.runs("arm_svdf_s8", call)


def lstm(p: Preparation) -> None:
    """K/cmsis_nn/unidirectional_sequence_lstm.cc, Prepare and Eval."""
    file = "cmsis_nn/unidirectional_sequence_lstm.cc"
    p.ensure_equal(len(p.view.operator.outputs), 1, f"{file}:335", ("node->outputs->size", "1"))
    p.ensure_equal(len(p.view.operator.inputs), 24, f"{file}:336", ("node->inputs->size", "24"))
    data, hidden, cell = (p.needed_input(index, f"{file}:349", "tensor") for index in (0, 18, 19))
    for index in (*range(1, 9), *range(12, 16)):
        constant = p.view.constant(p.view.input(index))
        line = 355 if index < 9 else 360
        p.ensure(constant, f"{file}:{line}", "IsConstantTensor(lstm_tensors.GetInternalTensor(i))")
    if cell.elem_type not in ("FLOAT32", "INT16"):
        known = "The quantized Unidirectional Sequence LSTM Op only support int16 cell state"
        raise Refused(f"Cell state type {cell.elem_type} not supported. {known}", Stage.PREPARE)
    integer = data.elem_type in ("INT8", "INT16") and cell.elem_type == "INT16"
    if len(hidden.shape) < 2 or len(data.shape) < 2:
        raise Unpredictable(f"an input of shape {list(data.shape)} and a hidden state of shape {list(hidden.shape)}")
    batch, width = hidden.shape[0], hidden.shape[1]
    if integer:
        p.persistent += [(4 if data.elem_type == "INT8" else 8) * width] * LSTM_GATES
    for _ in range(3 if integer else 4):
        p.request(batch * width * BITS[cell.elem_type] // 8)
    if not integer:
        p.reference = "float"
        return
    entry = "lstm_unidirectional_s8" if data.elem_type == "INT8" else "lstm_unidirectional_s16"
    features, steps = data.shape[-1], prod(data.shape[:-1]) // max(batch, 1)
    p.runs(f"arm_{entry}", KernelCall(entry, Dims(batch, 1, steps, features), NO_FILTER, Dims(batch, 1, steps, width)))
