"""The same kernels in a build without CMSIS-NN."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.kernels import (
    ACTIVATIONS,
    HYBRID,
    LUT_BYTES,
    PAIRS,
    QUANTIZATION_BYTES,
    SHAPE_BYTES,
    UNEQUAL_SCALES,
    check_inputs,
    check_scales,
    check_steps,
    dense_quantization,
    forgotten_bias,
    ignored_zero_point,
    is_per_channel,
    mul_types,
    pad_checks,
    pool_checks,
    softmax_scales,
    transpose_checks,
    transposed_copy,
)
from onnxlint_cmsis.runtimes.tflm.preparation import (
    BITS,
    INTEGER,
    K,
    Preparation,
    Refused,
    Stage,
    Unpredictable,
    quantized,
    scale,
    zero_point,
)
from onnxlint_cmsis.runtimes.tflm.reference_kernels import (
    CONVOLUTION_SCALES,
    DEPTHWISE_SCALES,
    LARGEST,
    MULTIPLIED,
    PADDED,
    SUM_FACTORS,
    TRANSPOSED_SCALES,
    hold,
)

# Layers with weights in a build without CMSIS-NN: K/conv.cc and its like instead of K/cmsis_nn/conv.cc.
#
# Prepare of most of them is in K/*_common.cc. No function of CMSIS-NN is called, and scratch unpacks int4 weights.


WITHOUT = "the build has no CMSIS-NN"
PAST_CHANNELS = "{channels} output channels are no multiple of {groups} groups: values beside the pixel are read"
DEPTHWISE_PAIRS = (*PAIRS, ("INT16", "INT16"))
"""Element types that Prepare of a depthwise convolution takes."""
NOT_COMPUTED = "Filter type {weights} for input type {data} not supported."
MATMUL_TYPES = ("FLOAT32", "INT8", "INT16")
SCALES_OF = "affine_quantization->scale->size"
POINTS_OF = "affine_quantization->zero_point->size"


def conv_2d(p: Preparation) -> None:
    """K/conv_common.cc, ConvPrepare."""
    file = "conv_common.cc"
    output = p.needed_output(f"{file}:150")
    data = p.needed_input(0, f"{file}:153", "input")
    weights = p.needed_input(1, f"{file}:156", "filter")
    p.ensure_types(data, output, f"{file}:158", ("input->type", "output->type"))
    p.ensure_message((data.elem_type, weights.elem_type) in PAIRS, file, HYBRID)
    p.predictable(data, weights, output)
    p.persistent += [4 * weights.shape[0]] * 2
    if data.elem_type in INTEGER:
        _is_quantized(p, weights, f"{file}:185")
        check_scales(p, weights, weights.shape[0], f"{file}:194", "kConvQuantizedDimension")
    check_inputs(p, 3, f"{file}:88")
    check_steps(p, data, CONVOLUTION_SCALES)
    _unpacks(p, weights)
    p.reference = WITHOUT
    groups = data.shape[3] // max(weights.shape[3], 1)
    if groups and output.shape[3] % groups:
        p.wrong.append(PAST_CHANNELS.format(channels=output.shape[3], groups=groups))
    if data.elem_type in INTEGER:
        ignored_zero_point(p, weights)


def depthwise_conv_2d(p: Preparation) -> None:
    """K/depthwise_conv_common.cc, DepthwiseConvPrepare; K/depthwise_conv.cc, Eval."""
    file = "depthwise_conv_common.cc"
    output = p.needed_output(f"{file}:150")
    data = p.needed_input(0, f"{file}:153", "input")
    weights = p.needed_input(1, f"{file}:156", "filter")
    p.predictable(data, weights, output)
    p.persistent += [4 * weights.shape[3]] * 2
    if data.elem_type == "INT8":
        _is_quantized(p, weights, f"{file}:176")
        check_scales(p, weights, weights.shape[3], f"{file}:185")
        _as_many_points(p, weights, f"{file}:190")
    known = data.elem_type == weights.elem_type or (data.elem_type, weights.elem_type) in PAIRS
    p.ensure_message(known, file, HYBRID)
    _unpacks(p, weights)
    check_inputs(p, 3, f"{file}:88")
    check_steps(p, data, DEPTHWISE_SCALES)
    forgotten_bias(p)
    p.reference = WITHOUT
    if (data.elem_type, weights.elem_type) not in PAIRS:
        p.fails = Refused(NOT_COMPUTED.format(weights=weights.elem_type, data=data.elem_type), Stage.INVOKE)
    elif data.elem_type in INTEGER:
        ignored_zero_point(p, weights)


def fully_connected(p: Preparation) -> None:
    """K/fully_connected.cc, FullyConnectedPrepare."""
    file = "fully_connected.cc"
    data = p.needed_input(0, f"{file}:48", "input")
    weights = p.needed_input(1, f"{file}:51", "filter")
    output = p.needed_output(f"{file}:56")
    p.ensure_types(data, output, f"{file}:57", ("input->type", "output->type"))
    if data.elem_type in ACTIVATIONS and (data.elem_type, weights.elem_type) not in PAIRS:
        text = f"Input type: {data.elem_type} with filter type: {weights.elem_type} not supported."
        raise Refused(text, Stage.PREPARE)
    if not output.shape or not weights.shape or min(output.shape) < 1:
        raise Unpredictable(f"shapes {list(weights.shape)} and {list(output.shape)} of weights and output")
    _unpacks(p, weights)
    p.reference = WITHOUT
    if data.elem_type != "FLOAT32":
        dense_quantization(p, weights, is_per_channel(weights))
    if data.elem_type not in ACTIVATIONS:
        p.fails = Refused(f"Input type {data.elem_type} not supported.", Stage.INVOKE)


def transpose_conv(p: Preparation) -> None:
    """K/transpose_conv.cc, TransposeConvPrepare: a word for every output, of 64 bits where activations are int16."""
    file = "transpose_conv.cc"
    output = p.needed_output(f"{file}:164")
    data = p.needed_input(2, f"{file}:167", "input")
    weights = p.needed_input(1, f"{file}:170", "filter")
    types = (data.elem_type, weights.elem_type)
    p.ensure_message(types[0] == types[1] or types == ("INT16", "INT8"), file, HYBRID)
    p.predictable(data, weights, output)
    p.persistent += [4 * weights.shape[0]] * 2
    if data.elem_type in INTEGER:
        p.request((4 if data.elem_type == "INT8" else 8) * prod(output.shape))
        _is_quantized(p, weights, f"{file}:213")
        check_scales(p, weights, weights.shape[0], f"{file}:222", "kTransposeConvQuantizedDimension")
        _as_many_points(p, weights, f"{file}:226")
    check_inputs(p, 4, f"{file}:78")
    check_steps(p, data, TRANSPOSED_SCALES)
    bias = p.view.input(3)
    if data.elem_type == "INT16" and bias is not None and bias.elem_type == "INT16":
        p.request(8 * prod(bias.shape))
    p.reference = WITHOUT
    if data.elem_type not in ("FLOAT32", *INTEGER):
        p.fails = Refused(f"Type {data.elem_type} not supported.", Stage.INVOKE)


def batch_matmul(p: Preparation) -> None:
    """K/batch_matmul.cc, BatchMatMulPrepare: the quantization comes first, and rank 5 is taken."""
    file = "batch_matmul.cc"
    left = p.needed_input(0, f"{file}:185", "lhs_data")
    right = p.needed_input(1, f"{file}:187", "rhs_data")
    output = p.needed_output(f"{file}:189")
    for tensor, name, line in ((left, "lhs_data", 191), (right, "rhs_data", 194)):
        names = " || ".join(f"{name}->type == kTfLite{kind}" for kind in ("Float32", "Int8", "Int16"))
        p.ensure(tensor.elem_type in MATMUL_TYPES, f"{file}:{line}", names)
    p.ensure(left.elem_type == right.elem_type, f"{file}:199", "lhs_data->type == rhs_data->type")
    p.ensure(left.elem_type == output.elem_type, f"{file}:201", "lhs_data->type == output->type")
    for tensor, name, line in ((left, "lhs_rank", 206), (right, "rhs_rank", 208)):
        p.ensure(len(tensor.shape) >= 2, f"{file}:{line}", f"{name} >= 2")
        p.ensure(len(tensor.shape) <= 5, f"{file}:{line + 1}", f"{name} <= 5")
    _matmul_memory(p, left, right, output)
    if left.elem_type == "INT16":
        for line, (tensor, name) in enumerate(((left, "lhs_data"), (right, "rhs_data"), (output, "output")), 242):
            p.ensure_equal(zero_point(tensor), 0, f"{file}:{line}", (f"{name}->params.zero_point", "0"))
    adj_x, adj_y = p.view.option("adj_x"), p.view.option("adj_y")
    depth_left, depth_right = left.shape[-2 if adj_x else -1], right.shape[-1 if adj_y else -2]
    p.ensure_equal(depth_left, depth_right, f"{file}:276", ("accum_dim_lhs", "accum_dim_rhs"))
    p.reference = WITHOUT


def _matmul_memory(p: Preparation, left: TfliteTensor, right: TfliteTensor, output: TfliteTensor) -> None:
    """InitializeTemporaries, and the copy of the output's shape."""
    if left.elem_type in INTEGER:
        p.persistent.append(QUANTIZATION_BYTES)
    if p.view.option("adj_x"):
        transposed_copy(p, left)
    if not p.view.option("adj_y"):
        transposed_copy(p, right)
    p.persistent.append(SHAPE_BYTES * (1 + len(output.shape)))


def _unpacks(p: Preparation, weights: TfliteTensor) -> None:
    """A byte for every weight of 4 bits."""
    if weights.elem_type == "INT4":
        p.request(prod(weights.shape))


def _is_quantized(p: Preparation, weights: TfliteTensor, place: str) -> None:
    names = ("filter->quantization.type", "kTfLiteAffineQuantization")
    p.ensure_equal(int(quantized(weights)), 1, place, names)


def _as_many_points(p: Preparation, weights: TfliteTensor, place: str) -> None:
    if weights.quantization is not None:
        scales, points = len(weights.quantization.scales), len(weights.quantization.zero_points)
        p.ensure_equal(scales, points, place, (SCALES_OF, POINTS_OF))


# The other operators in a build without CMSIS-NN: their Prepare is shared with the CMSIS-NN kernel or shorter.


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
