"""The kernels that call CMSIS-NN: what each checks, asks for and calls."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from struct import unpack_from

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.runtimes.tflm.preparation import (
    BITS,
    INTEGER,
    NO_FILTER,
    K,
    OperatorView,
    Preparation,
    Refused,
    Stage,
    Unpredictable,
    activation_dims,
    quantized,
    scale,
    single,
    tensor_bytes,
    window,
    zero_point,
)
from onnxlint_cmsis.runtimes.tflm.reference_kernels import (
    CONVOLUTION_SCALES,
    DENSE_ACTIVATION,
    DENSE_BIAS,
    DEPTHWISE_SCALES,
    FUSED_ACTIVATION,
    LARGEST,
    MULTIPLIED,
    PADDED,
    POOLED_ACTIVATION,
    SOFTMAX_RANGE,
    SUM_FACTORS,
    TRANSPOSED_SCALES,
    KernelLimit,
    hold,
)
from onnxlint_cmsis.runtimes.tflm.revisions import TflmDefect

# What the kernels of convolutions check alike, and the shapes they read.


HYBRID = "Hybrid models are not supported on TFLite Micro."
UNSUPPORTED_INPUT = "Input data type not supported"
ACTIVATIONS = ("FLOAT32", "INT16", "INT8")
PAIRS = (("FLOAT32", "FLOAT32"), ("INT16", "INT8"), ("INT8", "INT4"), ("INT8", "INT8"))
"""Element types of input and filter that convolutions take."""

Tensors = tuple[TfliteTensor, TfliteTensor, TfliteTensor]
"""Input, filter and output."""


def dims(tensor: TfliteTensor) -> Dims:
    """Shape of rank 4 as CMSIS-NN's dims."""
    return Dims(*tensor.shape)


def stride_of(view: OperatorView) -> Pair:
    """Stride of an operator."""
    return Pair(view.option("stride_h"), view.option("stride_w"))


def dilation_of(view: OperatorView) -> Pair:
    """Dilation of an operator, 1 by default."""
    return Pair(view.option("dilation_h_factor", 1), view.option("dilation_w_factor", 1))


def check_types(p: Preparation, tensors: Tensors, place: str, pairs: Sequence[tuple[str, str]] = PAIRS) -> None:
    """Types of input, filter and output; `place` is that of the first check."""
    data, weights, output = tensors
    file = place.partition(":")[0]
    p.ensure_types(data, output, place, ("input->type", "output->type"))
    p.ensure_message(data.elem_type in ACTIVATIONS, file, UNSUPPORTED_INPUT)
    p.ensure_message((data.elem_type, weights.elem_type) in pairs, file, HYBRID)


def check_inputs(p: Preparation, most: int, place: str) -> None:
    """One output, and `most` inputs or one fewer; `place` is that of the first check."""
    count = len(p.view.operator.inputs)
    p.ensure(count in (most - 1, most), place, f"has_bias || node->inputs->size == {most - 1}")
    line = int(place.rpartition(":")[2]) + 1
    outputs = len(p.view.operator.outputs)
    p.ensure_equal(outputs, 1, f"{place.rpartition(':')[0]}:{line}", ("node->outputs->size", "1"))


def check_scales(
    p: Preparation,
    weights: TfliteTensor,
    channels: int,
    place: str,
    axis: str = "kDepthwiseConvQuantizedDimension",
) -> None:
    """One scale, or one for each channel; `axis` is the source's name of the axis of channels."""
    quantization = weights.quantization
    if quantization is None:
        raise Refused(f"{K}{place} affine_quantization->scale was not true.", Stage.PREPARE)
    number = len(quantization.scales)
    p.ensure(
        number in (1, channels),
        place,
        f"affine_quantization->scale->size == 1 || affine_quantization->scale->size == filter->dims->data[{axis}]",
    )


def check_steps(p: Preparation, data: TfliteTensor, limits: tuple[KernelLimit, ...]) -> None:
    """PopulateConvolutionQuantizationParams (lite/kernels/kernel_util.cc:214), which float layers do not come to."""
    if data.elem_type != "FLOAT32":
        hold(p, limits)


def zero_points_are_zero(p: Preparation, data: TfliteTensor, output: TfliteTensor, first: str, second: str) -> None:
    """What int16 asks for; `first` and `second` are the places of the two checks."""
    p.ensure_equal(zero_point(data), 0, first, ("input->params.zero_point", "0"))
    p.ensure_equal(zero_point(output), 0, second, ("output->params.zero_point", "0"))


# CONV_2D and DEPTHWISE_CONV_2D.


NO_BIAS_S16 = "without a bias the sums are rescaled as 32-bit values: an output can be one step off"
WEIGHT_ZERO_POINT = "the kernel neither checks nor uses the zero-point of the weights, {found}"


def conv_2d(p: Preparation) -> None:
    """K/cmsis_nn/conv.cc, Prepare and Eval."""
    file = "cmsis_nn/conv.cc"
    data = p.needed_input(0, f"{file}:58", "input")
    weights = p.needed_input(1, f"{file}:61", "filter")
    output = p.needed_output(f"{file}:64")
    check_types(p, (data, weights, output), f"{file}:69")
    for tensor, name, line in ((data, "input", 85), (weights, "filter", 86), (output, "output", 87)):
        p.ensure_equal(len(tensor.shape), 4, f"{file}:{line}", (f"{name}->dims->size", "4"))
    p.ensure_equal(data.shape[0], output.shape[0], f"{file}:89", ("input->dims->data[0]", "output->dims->data[0]"))
    p.ensure(weights.shape[3] > 0, f"{file}:91", "filter->dims->data[3] > 0")
    rest = data.shape[3] % weights.shape[3]
    p.ensure_equal(rest, 0, f"{file}:92", ("input->dims->data[3] % filter->dims->data[3]", "0"))
    groups = data.shape[3] // weights.shape[3]
    p.predictable(data, weights, output)
    p.check(output.shape[3] % groups == 0, f"{file}:95")
    if data.elem_type in INTEGER:
        p.persistent += [4 * weights.shape[0]] * 2
    check_inputs(p, 3, "conv_common.cc:88")
    check_steps(p, data, CONVOLUTION_SCALES)
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    call = _convolution(p.view, data, weights, output)
    p.request_positive(p.routed(call._replace(entry=_sized_by(call.entry))).buffer_size)
    if data.elem_type == "INT16":
        zero_points_are_zero(p, data, output, f"{file}:158", f"{file}:159")
    p.runs(f"arm_convolve_wrapper_{call.entry.rpartition('_')[2]}", call)
    p.check(not p.dropped, f"{file}:313", Stage.INVOKE)
    if data.elem_type == "INT16" and not call.bias:
        p.wrong.append(NO_BIAS_S16)
    ignored_zero_point(p, weights)


def _sized_by(entry: str) -> str:
    """The size function of int4 weights is that of int8 (K/cmsis_nn/conv.cc:154)."""
    return "convolve_s8" if entry == "convolve_s4" else entry


def _convolution(view: OperatorView, data: TfliteTensor, weights: TfliteTensor, output: TfliteTensor) -> KernelCall:
    stride, dilation = stride_of(view), dilation_of(view)
    shape = dims(weights)
    pads = window(view.text("padding"), Pair(*data.shape[1:3]), Pair(shape.h, shape.w), stride, dilation)
    entry = {"INT16": "convolve_s16", "INT8": "convolve_s8"}[data.elem_type]
    return KernelCall(
        entry="convolve_s4" if weights.elem_type == "INT4" else entry,
        input_dims=dims(data),
        filter_dims=shape,
        output_dims=dims(output),
        stride=stride,
        padding=pads.before,
        pad_after=pads.after,
        dilation=dilation,
        bias=view.input(2) is not None,
    )


def ignored_zero_point(p: Preparation, weights: TfliteTensor) -> None:
    """Weights are taken as symmetric, whatever the file says."""
    points = weights.quantization.zero_points if weights.quantization else ()
    if any(points):
        p.wrong.append(WEIGHT_ZERO_POINT.format(found=next(point for point in points if point)))


def depthwise_conv_2d(p: Preparation) -> None:
    """K/cmsis_nn/depthwise_conv.cc, Prepare and Eval."""
    file = "cmsis_nn/depthwise_conv.cc"
    data = p.needed_input(0, f"{file}:70", "input")
    weights = p.needed_input(1, f"{file}:73", "filter")
    output = p.needed_output(f"{file}:76")
    check_types(p, (data, weights, output), f"{file}:78")
    p.predictable(data, weights, output)
    if data.elem_type in INTEGER:
        p.ensure(quantized(weights), f"{file}:101", "filter->quantization.type == kTfLiteAffineQuantization")
        if data.elem_type == "INT16":
            zero_points_are_zero(p, data, output, f"{file}:105", f"{file}:106")
        check_scales(p, weights, weights.shape[3], f"{file}:116")
        p.persistent += [4 * weights.shape[3]] * 2
    check_inputs(p, 3, "depthwise_conv_common.cc:88")
    check_steps(p, data, DEPTHWISE_SCALES)
    forgotten_bias(p)
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    if data.elem_type == "INT8" and p.has(TflmDefect.DEPTHWISE_BATCH):
        p.check(data.shape[0] == 1, f"{file}:150")
    call = _depthwise(p.view, data, weights, output)
    if data.elem_type == "INT16":
        p.runs("arm_depthwise_conv_s16")
    else:
        p.request_positive(p.routed(call).buffer_size)
        p.runs(f"arm_depthwise_conv_wrapper_{call.entry.rpartition('_')[2]}", call)
        p.check(not p.dropped, f"{file}:292", Stage.INVOKE)
    ignored_zero_point(p, weights)


def _depthwise(view: OperatorView, data: TfliteTensor, weights: TfliteTensor, output: TfliteTensor) -> KernelCall:
    stride, dilation = stride_of(view), dilation_of(view)
    shape = dims(weights)._replace(n=1)
    pads = window(view.text("padding"), Pair(*data.shape[1:3]), Pair(shape.h, shape.w), stride, dilation)
    return KernelCall(
        entry="depthwise_s4" if weights.elem_type == "INT4" else "depthwise_s8",
        input_dims=dims(data),
        filter_dims=shape,
        output_dims=dims(output),
        stride=stride,
        padding=pads.before,
        pad_after=pads.after,
        dilation=dilation,
        ch_mult=view.option("depth_multiplier"),
        bias=view.input(2) is not None,
    )


def forgotten_bias(p: Preparation) -> None:
    """An omitted bias (index -1) is handed to DeallocateTempTfLiteTensor (K/depthwise_conv_common.cc:131)."""
    if len(p.view.operator.inputs) == 3 and p.view.input(2) is None:
        p.forgotten_bias = True
        p.failed_checks.append((Stage.PREPARE, "tensorflow/lite/micro/micro_allocator.cc:843"))


# FULLY_CONNECTED and BATCH_MATMUL.


EVAL_TENSOR_BYTES = 12
SHAPE_BYTES = 4
QUANTIZATION_BYTES = 28
"""OpDataBatchMatmul's quantization (K/batch_matmul.h)."""

SEVERAL_SCALES = "its weights have a scale for each output, which layers of int8 alone may have"
INT32_BIAS = "the bias is int32 and the kernel reads it as int64"
FILTER_ZERO_POINT = "the 1x1 route ignores the zero-point of the weights, {found}"
FILTER_ZERO_POINT_S4 = "the int4 kernel ignores the zero-point of the weights, {found}"


def fully_connected(p: Preparation) -> None:
    """K/cmsis_nn/fully_connected.cc, Prepare and Eval."""
    file = "cmsis_nn/fully_connected.cc"
    data = p.needed_input(0, f"{file}:70", "input")
    weights = p.needed_input(1, f"{file}:73", "filter")
    output = p.needed_output(f"{file}:78")
    p.ensure_types(data, output, f"{file}:80", ("input->type", "output->type"))
    p.ensure_message(data.elem_type in ACTIVATIONS, file, UNSUPPORTED_INPUT)
    p.ensure_message((data.elem_type, weights.elem_type) in PAIRS, file, HYBRID)
    if not output.shape or not weights.shape or min(output.shape) < 1:
        raise Unpredictable(f"shapes {list(weights.shape)} and {list(output.shape)} of weights and output")
    p.check(2 <= len(output.shape) <= 4, f"{file}:{94 if len(output.shape) < 2 else 95}")
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    per_channel = is_per_channel(weights)
    dense_quantization(p, weights, per_channel)
    condition = (
        "!data->reference_op_data.is_per_channel || (data->reference_op_data.is_per_channel && "
        "input->type == kTfLiteInt8 && filter->type != kTfLiteInt4)"
    )
    p.ensure(not per_channel or data.elem_type == "INT8", f"{file}:116", condition, SEVERAL_SCALES)
    if data.elem_type == "INT16":
        _int16(p, (data, weights, output), file)
    elif weights.elem_type == "INT4":
        p.runs("arm_fully_connected_s4", _call(p, "fully_connected_s4", weights, output))
        if zero_point(weights):
            p.wrong.append(FILTER_ZERO_POINT_S4.format(found=zero_point(weights)))
    elif len(output.shape) > 2 and weights.shape[-1] % 4 == 0:
        _as_convolution(p, weights, output, file, per_channel)
    else:
        call = _call(p, "fully_connected_s8", weights, output)
        _int8(p, call._replace(per_channel=per_channel, weight_offset=bool(zero_point(weights))))


def is_per_channel(weights: TfliteTensor) -> bool:
    """Whether weights have several scales."""
    return weights.quantization is not None and quantized(weights) and len(weights.quantization.scales) > 1


def dense_quantization(p: Preparation, weights: TfliteTensor, per_channel: bool) -> None:
    """CalculateOpDataFullyConnected (K/fully_connected_common.cc) of integers."""
    common = "fully_connected_common.cc"
    if per_channel and weights.quantization:
        count, axis = len(weights.quantization.scales), weights.quantization.axis
        data = p.needed_input(0, f"{common}:101", "input")
        taken = weights.elem_type != "INT4" and data.elem_type in INTEGER
        types = "(input->type == kTfLiteInt8 && filter->type != kTfLiteInt4) || (input->type == kTfLiteInt16 && "
        p.ensure(taken, f"{common}:101", f"{types}filter->type != kTfLiteInt4)")
        channels = weights.shape[axis] if 0 <= axis < len(weights.shape) else 0
        names = ("per_channel_quantization_size", "filter->dims->data[affine_quantization->quantized_dimension]")
        p.ensure_equal(count, channels, f"{common}:109", names)
        p.persistent += [4 * count] * 2
    else:
        hold(p, DENSE_BIAS)
    p.check(zero_point(weights) == 0, f"{common}:148")
    hold(p, DENSE_ACTIVATION)


def _int16(p: Preparation, tensors: Tensors, file: str) -> None:
    data, weights, output = tensors
    p.ensure_equal(zero_point(data), 0, f"{file}:124", ("input->params.zero_point", "0"))
    p.ensure_equal(zero_point(output), 0, f"{file}:125", ("output->params.zero_point", "0"))
    p.runs("arm_fully_connected_s16", _call(p, "fully_connected_s16", weights, output))
    bias = p.view.input(2)
    if bias is not None and bias.elem_type == "INT32":
        p.wrong.append(INT32_BIAS)


def _as_convolution(p: Preparation, weights: TfliteTensor, output: TfliteTensor, file: str, per_channel: bool) -> None:
    """An output of more than two dimensions is a 1x1 convolution, whose scales a scratch buffer repeats."""
    if not per_channel:
        index = p.scratch_before + len(p.scratch)
        p.request(8 * output.shape[-1])
        p.check(index >= 4, f"{file}:309", Stage.INVOKE)
    rows, depth, channels = prod(output.shape[:-1]), weights.shape[-1], output.shape[-1]
    dims = Dims(rows, 1, 1, depth), Dims(channels, 1, 1, depth), Dims(rows, 1, 1, channels)
    p.runs("arm_convolve_1x1_s8_fast", KernelCall("convolve_s8", *dims, bias=p.view.input(2) is not None))
    if zero_point(weights):
        p.wrong.append(FILTER_ZERO_POINT.format(found=zero_point(weights)))


def _int8(p: Preparation, call: KernelCall) -> None:
    """Kernel sums live in the arena for good, or are worked out in each run into a scratch buffer."""
    sums = max(p.routed(call).buffer_size or 0, 0)
    bias = p.view.input(2)
    constant = p.view.constant(p.view.input(1)) and (bias is None or p.view.constant(bias))
    kept = p.build.speed and constant
    if sums and kept:
        p.persistent.append(sums)
    elif sums:
        p.request(sums)
        p.functions.append("arm_vector_sum_s8")
    p.runs("arm_fully_connected_wrapper_s8", call)


def _call(p: Preparation, entry: str, weights: TfliteTensor, output: TfliteTensor) -> KernelCall:
    rows, depth, channels = prod(output.shape[:-1]), weights.shape[-1], output.shape[-1]
    dims = Dims(rows, 1, 1, depth), Dims(depth, 1, 1, channels), Dims(rows, 1, 1, channels)
    return KernelCall(entry, *dims, bias=p.view.input(2) is not None)


def batch_matmul(p: Preparation) -> None:
    """K/cmsis_nn/batch_matmul.cc, Prepare and Eval."""
    file = "cmsis_nn/batch_matmul.cc"
    left = p.needed_input(0, f"{file}:205", "lhs_input")
    right = p.needed_input(1, f"{file}:208", "rhs_input")
    output = p.needed_output(f"{file}:211")
    p.ensure_types(left, right, f"{file}:213", ("lhs_input->type", "rhs_input->type"))
    p.ensure_types(left, output, f"{file}:214", ("lhs_input->type", "output->type"))
    p.ensure_message(left.elem_type in ACTIVATIONS, file, UNSUPPORTED_INPUT)
    for tensor, name, line in ((left, "lhs_rank", 224), (right, "rhs_rank", 226)):
        p.ensure(len(tensor.shape) >= 2, f"{file}:{line}", f"{name} >= 2")
        p.ensure(len(tensor.shape) <= 4, f"{file}:{line + 1}", f"{name} <= 4")
    adj_x, adj_y = p.view.option("adj_x"), p.view.option("adj_y")
    depth_left, depth_right = left.shape[-2 if adj_x else -1], right.shape[-1 if adj_y else -2]
    p.ensure_equal(depth_left, depth_right, f"{file}:257", ("accum_dim_lhs", "accum_dim_rhs"))
    if adj_x:
        transposed_copy(p, left)
    if not adj_y:
        transposed_copy(p, right)
    p.persistent.append(SHAPE_BYTES * (1 + len(output.shape)))
    if left.elem_type == "FLOAT32":
        p.reference = "float"
        return
    p.persistent.append(QUANTIZATION_BYTES)
    if left.elem_type == "INT16":
        _zero_points(p, (left, right, output), file)
        p.runs("arm_batch_matmul_s16", _product("batch_matmul_s16", (left, right, output), adj_x, adj_y))
    else:
        p.request_positive(_matmul_sums(p, output))
        p.runs("arm_batch_matmul_s8", _product("batch_matmul_s8", (left, right, output), adj_x, adj_y))


def _product(entry: str, tensors: Tensors, adj_x: int, adj_y: int) -> KernelCall:
    """Rows of the left operand times rows of the right one, whose copies are transposed where they have to be."""
    left, right, output = (activation_dims(tensor.shape) for tensor in tensors)
    left = left._replace(w=left.c, c=left.w) if adj_x else left
    right = right if adj_y else right._replace(w=right.c, c=right.w)
    return KernelCall(entry, left, right, output)


def transposed_copy(p: Preparation, tensor: TfliteTensor) -> None:
    """A further tensor for the transposed operand, constants included (batch_matmul.cc:162)."""
    p.persistent += [EVAL_TENSOR_BYTES, SHAPE_BYTES * (1 + len(tensor.shape)), tensor_bytes(tensor)]


def _matmul_sums(p: Preparation, output: TfliteTensor) -> int:
    """Bytes that arm_fully_connected_s8_get_buffer_size answers for the output's shape."""
    shape = (1,) * (4 - len(output.shape)) + output.shape
    dims = Dims(*shape)
    call = KernelCall("fully_connected_s8", dims, dims, dims, per_channel=False)
    return max(p.routed(call).buffer_size or 0, 0)


def _zero_points(p: Preparation, tensors: tuple[TfliteTensor, ...], file: str) -> None:
    for line, (tensor, name) in enumerate(zip(tensors, ("lhs_input", "rhs_input", "output"), strict=True), 319):
        p.ensure_equal(zero_point(tensor), 0, f"{file}:{line}", (f"{name}->params.zero_point", "0"))


# ADD, MUL, MAXIMUM and MINIMUM.


BROADCAST = "the shapes differ, {left} and {right}"
UNEQUAL_SCALES = "the kernel compares stored values, and scales or zero-points of inputs and output differ"
Operands = tuple[TfliteTensor, TfliteTensor, TfliteTensor]
"""Two inputs and the output."""

ONE_VALUE = "the kernel takes a shape of another rank than 2 to 4 for a single value"
TOO_DEEP = "tensorflow/lite/kernels/internal/runtime_shape.h:113"


def _operands(
    p: Preparation, file: str, lines: tuple[int, int, int]
) -> tuple[TfliteTensor, TfliteTensor, TfliteTensor]:
    left = p.needed_input(0, f"{file}:{lines[0]}", "input1")
    right = p.needed_input(1, f"{file}:{lines[1]}", "input2")
    return left, right, p.needed_output(f"{file}:{lines[2]}")


def _int16_zero_points(p: Preparation, tensors: tuple[TfliteTensor, ...], file: str, line: int) -> None:
    for number, (tensor, name) in enumerate(zip(tensors, ("input1", "input2", "output"), strict=True), line):
        p.ensure_equal(zero_point(tensor), 0, f"{file}:{number}", (f"{name}->params.zero_point", "0"))


def _runs(p: Preparation, name: str, operands: Operands) -> None:
    """CMSIS-NN for equal shapes of int8 and int16, reference code for all else."""
    left, right, output = operands
    suffix = {"INT8": "s8", "INT16": "s16"}.get(left.elem_type)
    if suffix is None:
        p.reference = "float" if left.elem_type == "FLOAT32" else left.elem_type.lower()
    elif left.shape != right.shape:
        p.reference = BROADCAST.format(left=list(left.shape), right=list(right.shape))
    else:
        _calls(p, f"elementwise_{name}_{suffix}", (left, right, output))


def _calls(p: Preparation, entry: str, operands: Operands) -> None:
    left, right, output = (activation_dims(tensor.shape) for tensor in operands)
    p.runs(f"arm_{entry}", KernelCall(entry, left, right, output))


def add(p: Preparation) -> None:
    """K/cmsis_nn/add.cc, PrepareAdd and EvalAdd."""
    file = "cmsis_nn/add.cc"
    left, right, output = _operands(p, file, (297, 300, 303))
    p.ensure_types(left, output, f"{file}:305", ("input1->type", "output->type"))
    taken = left.elem_type in ("FLOAT32", "INT32", "INT16", "INT8")
    p.ensure_message(taken, file, UNSUPPORTED_INPUT)
    p.ensure_message(left.elem_type == right.elem_type, file, HYBRID)
    if left.elem_type == "INT16":
        _int16_zero_points(p, (left, right, output), file, 314)
    hold(p, SUM_FACTORS)
    if output.elem_type == "INT32":
        for tensor, name, line in ((left, "input1", 327), (right, "input2", 329)):
            names = (f"{name}->quantization.type", "kTfLiteNoQuantization")
            p.ensure_equal(int(tensor.quantization is not None), 0, f"{file}:{line}", names)
    _runs(p, "add", (left, right, output))


def mul(p: Preparation) -> None:
    """K/cmsis_nn/mul.cc and K/mul_common.cc."""
    operands = mul_types(p)
    hold(p, MULTIPLIED)
    _runs(p, "mul", operands)


def mul_types(p: Preparation) -> Operands:
    """K/mul_common.cc, MulPrepare."""
    file = "mul_common.cc"
    left, right, output = _operands(p, file, (125, 128, 131))
    p.ensure_types(left, right, f"{file}:52", ("input1->type", "input2->type"))
    hold(p, FUSED_ACTIVATION)
    if output.elem_type == "INT16":
        _int16_zero_points(p, (left, right, output), file, 60)
    return left, right, output


def maximum(p: Preparation) -> None:
    """K/cmsis_nn/maximum_minimum.cc: no Prepare at all."""
    _extreme(p, "maximum_s8")


def minimum(p: Preparation) -> None:
    """K/cmsis_nn/maximum_minimum.cc: no Prepare at all."""
    _extreme(p, "minimum_s8")


def _extreme(p: Preparation, entry: str) -> None:
    file = "cmsis_nn/maximum_minimum.cc"
    tensors = _operands(p, file, (0, 0, 0))
    output = tensors[2]
    hold(p, LARGEST)
    if any(tensor.quantization != output.quantization for tensor in tensors):
        p.wrong.append(UNEQUAL_SCALES)
    if output.elem_type != "INT8":
        p.reference = "float" if output.elem_type == "FLOAT32" else output.elem_type.lower()
        return
    ranks = [len(tensor.shape) for tensor in tensors]
    if p.has(TflmDefect.EXTREME_RANK):
        if not all(2 <= rank <= 4 for rank in ranks):
            p.wrong.append(ONE_VALUE)
    elif max(ranks) > 4:
        p.halted = (Stage.INVOKE, TOO_DEEP)
    _calls(p, entry, tensors)


# PAD, PADV2 and TRANSPOSE.


DEEP_PAD = "the kernel pads the last four dimensions alone; of {found} images along the first only one is written"
PAD_OF_FOUR = "the kernel reads four sizes of a shape that has {found}"
DEEP_TRANSPOSE = "the kernel takes four dimensions at most, the error is dropped and the output is never written"


def values(view: OperatorView, tensor: TfliteTensor, count: int) -> tuple[int, ...]:
    """The first `count` int32 values of a constant."""
    data = view.model.bytes_of(tensor.buffer)
    if len(data) < 4 * count:
        raise Unpredictable(f"'{tensor.name}' has {len(data)} bytes; {4 * count} are read")
    return unpack_from(f"<{count}i", data)


def _moving(entry: str, data: TfliteTensor, output: TfliteTensor) -> KernelCall:
    return KernelCall(entry, activation_dims(data.shape), NO_FILTER, activation_dims(output.shape))


def pad(p: Preparation) -> None:
    """K/pad_common.cc and K/cmsis_nn/pad.cc, for PAD and PADV2."""
    data, output = pad_checks(p)
    hold(p, PADDED)
    if data.elem_type != "INT8":
        p.reference = "float" if data.elem_type == "FLOAT32" else data.elem_type.lower()
        return
    p.runs("arm_pad_s8", _moving("pad_s8", data, output)._replace(pad_front=_front(p, len(data.shape))))
    if p.has(TflmDefect.PAD_RANK) and len(data.shape) != 4:
        p.wrong.append(PAD_OF_FOUR.format(found=len(data.shape)))
    elif len(data.shape) == 5 and data.shape[0] > 1:
        p.wrong.append(DEEP_PAD.format(found=data.shape[0]))


def _front(p: Preparation, rank: int) -> Dims:
    """What is added in front, in the order of `activation_dims`; unknown for more than four axes."""
    amounts = values(p.view, p.needed_input(1, "pad_common.cc:44", "paddings"), 2 * rank)[::2]
    return NO_FILTER if rank > 4 else Dims(*(0,) * (4 - rank), *amounts)


def pad_checks(p: Preparation) -> tuple[TfliteTensor, TfliteTensor]:
    """PadPrepare (K/pad_common.cc); input and output."""
    file = "pad_common.cc"
    count = len(p.view.operator.inputs)
    p.ensure(count in (2, 3), f"{file}:36", "NumInputs(node) == 2 || NumInputs(node) == 3")
    data = p.needed_input(0, f"{file}:41", "input")
    amounts = p.needed_input(1, f"{file}:44", "paddings")
    fill = p.needed_input(2, f"{file}:48", "constant_values") if count == 3 else None
    output = p.needed_output(f"{file}:51")
    p.ensure_types(data, output, f"{file}:53", ("input->type", "output->type"))
    most = "NumDimensions(input) <= reference_ops::PadKernelMaxDimensionCount()"
    p.ensure(len(data.shape) <= 5, f"{file}:56", most)
    _pad_sizes(p, data, amounts, fill, output)
    if data.elem_type == "INT8" and fill is not None:
        names = ("output->params.zero_point", "constant_values->params.zero_point")
        p.ensure_equal(zero_point(output), zero_point(fill), f"{file}:110", names)
        doubles = ("static_cast<double>(output->params.scale)", "static_cast<double>(constant_values->params.scale)")
        p.ensure_equal_doubles(scale(output), scale(fill), f"{file}:112", doubles)
    return data, output


def _pad_sizes(
    p: Preparation, data: TfliteTensor, amounts: TfliteTensor, fill: TfliteTensor | None, output: TfliteTensor
) -> None:
    file = "pad_common.cc"
    if fill is not None:
        p.ensure_types(data, fill, f"{file}:60", ("input->type", "constant_values->type"))
        p.ensure_equal(prod(fill.shape), 1, f"{file}:62", ("NumElements(constant_values)", "1"))
    rank = len(output.shape)
    names = ("GetTensorShape(paddings).FlatSize()", "output->dims->size * 2")
    p.ensure_equal(prod(amounts.shape), 2 * rank, f"{file}:66", names)
    constant = p.view.constant(amounts)
    p.ensure_message(constant, file, "Non-constant >paddings< tensor is not supported")
    pads = values(p.view, amounts, 2 * rank)
    for axis, size in enumerate(data.shape[:rank]):
        expected = size + pads[2 * axis] + pads[2 * axis + 1]
        p.ensure_equal(output.shape[axis], expected, f"{file}:79", ("output_dim", "expected_dim"))


def transpose(p: Preparation) -> None:
    """K/transpose_common.cc and K/cmsis_nn/transpose.cc."""
    data = transpose_checks(p)
    output = p.view.output()
    if data.elem_type == "INT8" and len(data.shape) > 4:
        p.wrong.append(DEEP_TRANSPOSE)
        p.dropped = f"{K}cmsis_nn/transpose.cc:30 size <= 4 was not true."
    elif data.elem_type == "INT8" and output is not None:
        rank = len(data.shape)
        order = values(p.view, p.needed_input(1, "transpose_common.cc:30", "op_context.perm"), rank)
        p.runs("arm_transpose_s8", _moving("transpose_s8", data, output)._replace(permutation=order))
    elif data.elem_type in ("FLOAT32", "INT16"):
        p.reference = "float" if data.elem_type == "FLOAT32" else "int16"
    else:
        known = "Only float32, int8 and int16 is supported"
        raise Refused(f"Type {data.elem_type} is currently not supported by Transpose. {known}", Stage.INVOKE)


def transpose_checks(p: Preparation) -> TfliteTensor:
    """TransposePrepare (K/transpose_common.cc); the input."""
    file = "transpose_common.cc"
    p.ensure_equal(len(p.view.operator.inputs), 2, f"{file}:27", ("NumInputs(node)", "2"))
    data = p.needed_input(0, f"{file}:30", "op_context.input")
    order = p.needed_input(1, f"{file}:30", "op_context.perm")
    output = p.needed_output(f"{file}:30")
    rank = len(data.shape)
    p.ensure_message(rank <= 5, file, "Transpose op only supports 1D-5D input arrays.")
    p.ensure_types(data, output, f"{file}:35", ("op_context.input->type", "op_context.output->type"))
    p.ensure_message(p.view.constant(order), file, "Non-constant >perm< tensor is not supported")
    p.ensure_equal(len(order.shape), 1, f"{file}:44", ("NumDimensions(op_context.perm)", "1"))
    p.ensure_equal(order.shape[0], rank, f"{file}:45", ("op_context.perm->dims->data[0]", "dims"))
    bounds = all(0 <= axis < rank for axis in values(p.view, order, rank))
    p.ensure_message(bounds, file, "Transpose op permutations array is out of bounds.")
    return data


# AVERAGE_POOL_2D, MAX_POOL_2D and SOFTMAX.


FIRST_IMAGE = "only the first of {found} images is pooled"
LUT_BYTES = 513 * 2
"""One of the two tables of the int16 softmax."""


def average_pool_2d(p: Preparation) -> None:
    """K/cmsis_nn/pooling.cc, AveragePrepare and AverageEval."""
    call = _pool(p, "avgpool")
    if call:
        p.request_positive(p.routed(call).buffer_size)
        p.runs(f"arm_{call.entry}", call)
        line = 102 if call.entry.endswith("s16") else 96
        p.check(not p.dropped, f"cmsis_nn/pooling.cc:{line}", Stage.INVOKE)


def max_pool_2d(p: Preparation) -> None:
    """K/cmsis_nn/pooling.cc, MaxPrepare and MaxEval."""
    call = _pool(p, "max_pool")
    if call:
        p.runs(f"arm_{call.entry}", call)


def _pool(p: Preparation, entry: str) -> KernelCall | None:
    """The call of a pool, None for float."""
    data, output = pool_checks(p)
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return None
    p.predictable(data, output)
    stride = stride_of(p.view)
    kernel = Pair(p.view.option("filter_height"), p.view.option("filter_width"))
    pads = window(p.view.text("padding"), Pair(*data.shape[1:3]), kernel, stride)
    suffix = "s16" if data.elem_type == "INT16" else "s8"
    filter_dims = Dims(1, kernel.h, kernel.w, 1)
    if p.has(TflmDefect.POOL_FIRST_IMAGE) and data.shape[0] > 1:
        p.wrong.append(FIRST_IMAGE.format(found=data.shape[0]))
    return KernelCall(f"{entry}_{suffix}", dims(data), filter_dims, dims(output), stride, pads.before, pads.after)


def pool_checks(p: Preparation) -> tuple[TfliteTensor, TfliteTensor]:
    """PoolingPrepare (K/pooling_common.cc); input and output."""
    file = "pooling_common.cc"
    data = p.needed_input(0, f"{file}:61", "input")
    output = p.needed_output(f"{file}:64")
    if data.elem_type in INTEGER:
        p.ensure(_difference(scale(data), scale(output)) <= 1.0e-6, f"{file}:73", "scale_diff <= 1.0e-6")
        same = "input->params.zero_point == output->params.zero_point"
        p.ensure(zero_point(data) == zero_point(output), f"{file}:74", same)
        hold(p, POOLED_ACTIVATION)
    elif data.elem_type != "FLOAT32":
        raise Refused(f"Type {data.elem_type} not supported.", Stage.PREPARE)
    return data, output


def softmax(p: Preparation) -> None:
    """K/cmsis_nn/softmax.cc and K/softmax_common.cc."""
    file = "cmsis_nn/softmax.cc"
    p.ensure_equal(len(p.view.operator.inputs), 1, f"{file}:48", ("NumInputs(node)", "1"))
    p.ensure_equal(len(p.view.operator.outputs), 1, f"{file}:49", ("NumOutputs(node)", "1"))
    data = p.needed_input(0, f"{file}:51", "input")
    p.ensure(len(data.shape) >= 1, f"{file}:52", "NumDimensions(input) >= 1")
    output = p.needed_output(f"{file}:54")
    kinds = (data.elem_type, output.elem_type)
    together = kinds[0] == kinds[1] or kinds == ("INT8", "INT16")
    p.ensure_message(together, file, "Input and output data types are not supported together.")
    p.ensure_message(data.elem_type in ("FLOAT32", *INTEGER), file, UNSUPPORTED_INPUT)
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    if data.elem_type == "INT16":
        p.persistent += [LUT_BYTES] * 2
    softmax_scales(p, data, output)
    names = {("INT8", "INT8"): "softmax_s8", ("INT8", "INT16"): "softmax_s8_s16", ("INT16", "INT16"): "softmax_s16"}
    rows = Dims(prod(data.shape[:-1]), 1, 1, data.shape[-1])
    p.runs(f"arm_{names[kinds]}", KernelCall(names[kinds], rows, NO_FILTER, rows))


def softmax_scales(p: Preparation, data: TfliteTensor, output: TfliteTensor) -> None:
    """CalculateSoftmaxParams."""
    file, point = "softmax_common.cc", zero_point(output)
    if data.elem_type == "INT16":
        p.ensure_equal(zero_point(data), 0, f"{file}:91", ("input->params.zero_point", "0"))
        p.ensure_equal(point, 0, f"{file}:92", ("output->params.zero_point", "0"))
        _near(p, output, 32768, f"{file}:93")
    elif output.elem_type == "INT16":
        p.ensure_equal(point, -32768, f"{file}:98", ("output->params.zero_point", "-32768"))
        _near(p, output, 65536, f"{file}:99")
    else:
        p.ensure_equal(point, -128, f"{file}:103", ("output->params.zero_point", "-128"))
        p.ensure(scale(output) == 1 / 256, f"{file}:104", "output->params.scale == 1.f / 256")
    hold(p, SOFTMAX_RANGE)


def _near(p: Preparation, output: TfliteTensor, divisor: int, place: str) -> None:
    names = ("output->params.scale", f"1.f / {divisor}")
    p.ensure_near(scale(output), 1 / divisor, single(0.001) / divisor, place, names)


def _difference(left: float, right: float) -> float:
    return single(abs(left - right))


# SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM.


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


# TRANSPOSE_CONV.


def transpose_conv(p: Preparation) -> None:
    """K/cmsis_nn/transpose_conv.cc, Prepare and Eval."""
    file = "cmsis_nn/transpose_conv.cc"
    output = p.needed_output(f"{file}:169")
    data = p.needed_input(2, f"{file}:172", "input")
    weights = p.needed_input(1, f"{file}:175", "filter")
    check_types(p, (data, weights, output), f"{file}:177", PAIRS[:2] + PAIRS[3:])
    p.predictable(data, weights, output)
    p.persistent += [4 * weights.shape[0]] * 2
    call = _transposed(p.view, data, weights, output)
    if data.elem_type == "INT8":
        found = p.routed(call)
        p.request(found.buffer_size)
        p.request(found.reverse_buffer_size)
    elif data.elem_type == "INT16":
        p.request(8 * prod(output.shape))
    if data.elem_type in INTEGER:
        p.ensure(quantized(weights), f"{file}:266", "filter->quantization.type == kTfLiteAffineQuantization")
        check_scales(p, weights, weights.shape[0], f"{file}:275")
    check_inputs(p, 4, f"{file}:81")
    check_steps(p, data, TRANSPOSED_SCALES)
    bias = p.view.input(3)
    if data.elem_type == "INT16" and bias is not None and bias.elem_type == "INT16":
        p.request(8 * prod(bias.shape))
    if data.elem_type == "INT8":
        p.runs("arm_transpose_conv_wrapper_s8", call)
        p.check(not p.dropped, f"{file}:382", Stage.INVOKE)
    else:
        p.reference = "float" if data.elem_type == "FLOAT32" else "int16 transposed convolution"


def _transposed(view: OperatorView, data: TfliteTensor, weights: TfliteTensor, output: TfliteTensor) -> KernelCall:
    """Padding is worked out from the output's size, as that of the convolution whose gradient this is."""
    stride, shape = stride_of(view), dims(weights)
    pads = window(view.text("padding"), Pair(*output.shape[1:3]), Pair(shape.h, shape.w), stride)
    return KernelCall(
        entry="transpose_conv_s8",
        input_dims=dims(data),
        filter_dims=shape,
        output_dims=dims(output),
        stride=stride,
        padding=pads.before,
        pad_after=pads.after,
        bias=view.input(3) is not None,
    )
