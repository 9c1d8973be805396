"""The other operators in a build without CMSIS-NN: their Prepare is shared with the CMSIS-NN kernel or shorter."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.elementwise_kernels import UNEQUAL_SCALES, mul_types
from onnxlint_cmsis.runtimes.tflm.movement_kernels import pad_checks, transpose_checks
from onnxlint_cmsis.runtimes.tflm.operator_view import BITS, quantized, scale, zero_point
from onnxlint_cmsis.runtimes.tflm.plain_layer_kernels import WITHOUT
from onnxlint_cmsis.runtimes.tflm.pooling_kernels import LUT_BYTES, pool_checks, softmax_scales
from onnxlint_cmsis.runtimes.tflm.preparation import K, Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.reference_kernels import LARGEST, MULTIPLIED, PADDED, SUM_FACTORS, hold

FLOAT_LSTM, INTEGER_LSTM = "FLOAT32", "INT16"
"""Types of the cell state."""
BIAS_SCALE = (
    "std::abs(static_cast<double>(bias->params.scale) - static_cast<double>(activation_state->params.scale * "
    "weights_time->params.scale)) < 1e-5"
)
TYPES = ("FLOAT32", "INT8", "INT16")


def pool(p: Preparation) -> None:
    """K/pooling_common.cc, PoolingPrepare."""
    pool_checks(p)
    p.reference = WITHOUT


def softmax(p: Preparation) -> None:
    """K/softmax_common.cc, SoftmaxPrepare."""
    file = "softmax_common.cc"
    p.ensure_equal(len(p.view.operator.inputs), 1, f"{file}:148", ("NumInputs(node)", "1"))
    p.ensure_equal(len(p.view.operator.outputs), 1, f"{file}:149", ("NumOutputs(node)", "1"))
    data = p.needed_input(0, f"{file}:151", "input")
    p.ensure(len(data.shape) >= 1, f"{file}:152", "NumDimensions(input) >= 1")
    output = p.needed_output(f"{file}:154")
    if data.elem_type == "INT16":
        p.persistent += [LUT_BYTES] * 2
    if output.elem_type == "INT16":
        taken = "input->type == kTfLiteInt8 || input->type == kTfLiteInt16"
        p.ensure(data.elem_type in ("INT8", "INT16"), f"{file}:49", taken)
    else:
        p.ensure_types(data, output, f"{file}:52", ("input->type", "output->type"))
    if data.elem_type == "INT16":
        p.ensure_equal(zero_point(output), 0, f"{file}:57", ("output->params.zero_point", "0"))
    if data.elem_type in ("INT8", "INT16"):
        softmax_scales(p, data, output)
    elif data.elem_type != "FLOAT32":
        found = f"input->type != kTfLiteFloat32 ({data.elem_type} != FLOAT32)"
        raise Refused(f"{K}{file}:133 {found}", Stage.PREPARE)
    p.reference = WITHOUT


def add(p: Preparation) -> None:
    """K/add_common.cc, AddPrepare."""
    file = "add_common.cc"
    left = p.needed_input(0, f"{file}:88", "input1")
    right = p.needed_input(1, f"{file}:91", "input2")
    output = p.needed_output(f"{file}:94")
    p.reference = WITHOUT
    if output.elem_type in ("INT8", "INT16") and not quantized(output):
        p.halted = (Stage.PREPARE, f"{K}{file}:42")
    hold(p, SUM_FACTORS)
    if output.elem_type == "INT32":
        for tensor, name, line in ((left, "input1", 104), (right, "input2", 106)):
            names = (f"{name}->quantization.type", "kTfLiteNoQuantization")
            p.ensure_equal(int(tensor.quantization is not None), 0, f"{file}:{line}", names)
    elif output.elem_type not in TYPES:
        p.fails = Refused(f"Type {output.elem_type} not supported.", Stage.INVOKE)


def mul(p: Preparation) -> None:
    """K/mul_common.cc, which the CMSIS-NN kernel has too."""
    mul_types(p)
    p.reference = WITHOUT
    hold(p, MULTIPLIED)


def extreme(p: Preparation) -> None:
    """K/maximum_minimum.cc: no Prepare at all, and stored values are compared as they are."""
    tensors = [p.view.input(0), p.view.input(1)]
    output = p.needed_output("maximum_minimum.cc:0")
    hold(p, LARGEST)
    if any(tensor is not None and tensor.quantization != output.quantization for tensor in tensors):
        p.wrong.append(UNEQUAL_SCALES)
    p.reference = WITHOUT


def pad(p: Preparation) -> None:
    """K/pad_common.cc, which the CMSIS-NN kernel has too; K/pad.cc takes five dimensions."""
    pad_checks(p)
    p.reference = WITHOUT
    hold(p, PADDED)


def transpose(p: Preparation) -> None:
    """K/transpose_common.cc, which the CMSIS-NN kernel has too; K/transpose.cc takes five dimensions."""
    data = transpose_checks(p)
    if data.elem_type not in TYPES:
        known = "Only float32, int8 and int16 are supported"
        raise Refused(f"Type {data.elem_type} is currently not supported by Transpose. {known}", Stage.INVOKE)
    p.reference = WITHOUT


def svdf(p: Preparation) -> None:
    """K/svdf_common.cc, PrepareSvdf."""
    file = "svdf_common.cc"
    data = p.needed_input(0, f"{file}:379", "input")
    features = p.needed_input(1, f"{file}:382", "weights_feature")
    times = p.needed_input(2, f"{file}:385", "weights_time")
    state = p.needed_input(4, f"{file}:390", "activation_state")
    rank = p.view.option("rank")
    if min(map(len, (data.shape, features.shape, times.shape))) < 2 or rank < 1:
        raise Unpredictable("an SVDF whose inputs have fewer than two dimensions, or whose rank is 0")
    batch, filters = data.shape[0], features.shape[0]
    p.ensure_equal(filters % rank, 0, f"{file}:397", ("num_filters % rank", "0"))
    taken = "input->type == kTfLiteFloat32 || input->type == kTfLiteInt8"
    p.ensure(data.elem_type in ("FLOAT32", "INT8"), f"{file}:402", taken)
    p.needed_output(f"{file}:411")
    p.ensure_equal(int(state.is_variable), 1, f"{file}:436", ("activation_state->is_variable", "true"))
    p.ensure_equal(len(p.view.operator.inputs), 5, f"{file}:438", ("node->inputs->size", "5"))
    p.request(4 * batch * filters)
    if data.elem_type == "INT8":
        _bias_scale(p, state, times, f"{file}:464")
        p.request(4 * batch * (filters // rank))
    p.reference = WITHOUT


def _bias_scale(p: Preparation, state: TfliteTensor, times: TfliteTensor, place: str) -> None:
    bias = p.view.input(3)
    if bias is None:
        raise Unpredictable("an SVDF without a bias: the kernel reads the scale of one that is not there")
    p.ensure(abs(scale(bias) - scale(state) * scale(times)) < 1e-5, place, BIAS_SCALE)


def lstm(p: Preparation) -> None:
    """K/unidirectional_sequence_lstm.cc, Prepare: four buffers of the state, and nothing that stays."""
    file = "unidirectional_sequence_lstm.cc"
    p.ensure_equal(len(p.view.operator.outputs), 1, f"{file}:45", ("node->outputs->size", "1"))
    p.ensure_equal(len(p.view.operator.inputs), 24, f"{file}:46", ("node->inputs->size", "24"))
    hidden = p.needed_input(18, "lstm_eval.cc:60", "internal_tensors_[kLstmOutputStateTensor]")
    cell = p.needed_input(19, "lstm_eval.cc:67", "internal_tensors_[kLstmCellStateTensor]")
    if cell.elem_type not in (FLOAT_LSTM, INTEGER_LSTM):
        known = "The quantized Unidirectional Sequence LSTM Op only support int16 cell state"
        raise Refused(f"Cell state type {cell.elem_type} not supported. {known}", Stage.PREPARE)
    if len(hidden.shape) < 2:
        raise Unpredictable(f"a hidden state of shape {list(hidden.shape)}")
    for _ in range(4):
        p.request(hidden.shape[0] * hidden.shape[1] * BITS[cell.elem_type] // 8)
    p.reference = WITHOUT
