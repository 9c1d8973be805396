"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.geometry import window
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, quantized, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Refused, Stage
from onnxlint_cmsis.types import Dims, KernelCall, Pair

HYBRID = "Hybrid models are not supported on TFLite Micro."
UNSUPPORTED_INPUT = "Input data type not supported"
ACTIVATIONS = ("FLOAT32", "INT16", "INT8")
INTEGER = ("INT8", "INT16")
PAIRS = (("FLOAT32", "FLOAT32"), ("INT16", "INT8"), ("INT8", "INT4"), ("INT8", "INT8"))
"""Element types of input and filter that convolutions take."""

NO_BIAS_GROUPED = "without a bias every group after the first adds what lies at low addresses"
NO_BIAS_WIDE = "without a bias the channels after the first 124 add what lies at low addresses"
NO_BIAS_S16 = "without a bias the sums are rescaled as 32-bit values: an output can be one step off"
GROUPED_S16 = "a grouped int16 convolution is computed wrongly, with status SUCCESS"
GROUPED_S4 = "a grouped int4 convolution is computed wrongly, with status SUCCESS"
WEIGHT_ZERO_POINT = "the kernel neither checks nor uses the zero-point of the weights, {found}"


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


def conv_2d(p: Preparation) -> None:
    """K/cmsis_nn/conv.cc, Prepare and Eval."""
    file = "cmsis_nn/conv.cc"
    data = p.needed_input(0, f"{file}:58", "input")
    weights = p.needed_input(1, f"{file}:61", "filter")
    output = p.needed_output(f"{file}:64")
    _check_types(p, (data, weights, output), f"{file}:69")
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
    _check_inputs(p, 3, "conv_common.cc:88")
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    call = _convolution(p.view, data, weights, output)
    p.request_positive(p.routed(call._replace(entry=_sized_by(call.entry))).buffer_size)
    if data.elem_type == "INT16":
        _zero_points_are_zero(p, data, output, f"{file}:158", f"{file}:159")
    p.runs(f"arm_convolve_wrapper_{call.entry.rpartition('_')[2]}", call)
    p.check(not p.dropped, f"{file}:313", Stage.INVOKE)
    _convolution_traps(p, weights, groups, call.entry)


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
    )


def _convolution_traps(p: Preparation, weights: TfliteTensor, groups: int, entry: str) -> None:
    if groups > 1 and entry == "convolve_s16":
        p.wrong.append(GROUPED_S16)
    elif groups > 1 and entry == "convolve_s4":
        p.wrong.append(GROUPED_S4)
    elif groups > 1 and p.view.input(2) is None:
        p.wrong.append(NO_BIAS_GROUPED)
    elif entry == "convolve_s16" and p.view.input(2) is None:
        p.wrong.append(NO_BIAS_S16)
    _quantization_traps(p, weights)


def _quantization_traps(p: Preparation, weights: TfliteTensor) -> None:
    """What a convolution takes from the file without looking at it."""
    points = weights.quantization.zero_points if weights.quantization else ()
    if any(points):
        p.wrong.append(WEIGHT_ZERO_POINT.format(found=next(point for point in points if point)))


def depthwise_conv_2d(p: Preparation) -> None:
    """K/cmsis_nn/depthwise_conv.cc, Prepare and Eval."""
    file = "cmsis_nn/depthwise_conv.cc"
    data = p.needed_input(0, f"{file}:70", "input")
    weights = p.needed_input(1, f"{file}:73", "filter")
    output = p.needed_output(f"{file}:76")
    _check_types(p, (data, weights, output), f"{file}:78")
    p.predictable(data, weights, output)
    if data.elem_type in INTEGER:
        p.ensure(quantized(weights), f"{file}:101", "filter->quantization.type == kTfLiteAffineQuantization")
        if data.elem_type == "INT16":
            _zero_points_are_zero(p, data, output, f"{file}:105", f"{file}:106")
        _check_scales(p, weights, weights.shape[3], f"{file}:116")
        p.persistent += [4 * weights.shape[3]] * 2
    _check_inputs(p, 3, "depthwise_conv_common.cc:88")
    _forgotten_bias(p)
    if data.elem_type == "FLOAT32":
        p.reference = "float"
        return
    call = _depthwise(p.view, data, weights, output)
    if data.elem_type == "INT16":
        p.runs("arm_depthwise_conv_s16")
    else:
        p.request_positive(p.routed(call).buffer_size)
        p.runs(f"arm_depthwise_conv_wrapper_{call.entry.rpartition('_')[2]}", call)
        p.check(not p.dropped, f"{file}:292", Stage.INVOKE)
    blocks = "arm_depthwise_conv_s8_opt" in p.chain or "arm_depthwise_conv_s4_opt" in p.chain
    if p.build.mve and blocks and output.shape[3] > 124 and p.view.input(2) is None:
        p.wrong.append(NO_BIAS_WIDE)
    _quantization_traps(p, weights)


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
    )


def _forgotten_bias(p: Preparation) -> None:
    """An omitted bias (index -1) is handed to DeallocateTempTfLiteTensor (K/depthwise_conv_common.cc:131)."""
    if len(p.view.operator.inputs) == 3 and p.view.input(2) is None:
        p.forgotten_bias = True
        p.failed_checks.append((Stage.PREPARE, "tensorflow/lite/micro/micro_allocator.cc:843"))


def transpose_conv(p: Preparation) -> None:
    """K/cmsis_nn/transpose_conv.cc, Prepare and Eval."""
    file = "cmsis_nn/transpose_conv.cc"
    output = p.needed_output(f"{file}:169")
    data = p.needed_input(2, f"{file}:172", "input")
    weights = p.needed_input(1, f"{file}:175", "filter")
    _check_types(p, (data, weights, output), f"{file}:177", PAIRS[:2] + PAIRS[3:])
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
        _check_scales(p, weights, weights.shape[0], f"{file}:275")
    _check_inputs(p, 4, f"{file}:81")
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
    )


def _check_types(p: Preparation, tensors: Tensors, place: str, pairs: Sequence[tuple[str, str]] = PAIRS) -> None:
    """Types of input, filter and output; `place` is that of the first check."""
    data, weights, output = tensors
    file = place.partition(":")[0]
    p.ensure_types(data, output, place, ("input->type", "output->type"))
    p.ensure_message(data.elem_type in ACTIVATIONS, file, UNSUPPORTED_INPUT)
    p.ensure_message((data.elem_type, weights.elem_type) in pairs, file, HYBRID)


def _check_inputs(p: Preparation, most: int, place: str) -> None:
    count = len(p.view.operator.inputs)
    p.ensure(count in (most - 1, most), place, f"has_bias || node->inputs->size == {most - 1}")
    line = int(place.rpartition(":")[2]) + 1
    outputs = len(p.view.operator.outputs)
    p.ensure_equal(outputs, 1, f"{place.rpartition(':')[0]}:{line}", ("node->outputs->size", "1"))


def _check_scales(p: Preparation, weights: TfliteTensor, channels: int, place: str) -> None:
    quantization = weights.quantization
    if quantization is None:
        raise Refused(f"tensorflow/lite/micro/kernels/{place} affine_quantization->scale was not true.", Stage.PREPARE)
    number = len(quantization.scales)
    p.ensure(
        number in (1, channels),
        place,
        "affine_quantization->scale->size == 1 || affine_quantization->scale->size == "
        "filter->dims->data[kDepthwiseConvQuantizedDimension]",
    )


def _zero_points_are_zero(p: Preparation, data: TfliteTensor, output: TfliteTensor, first: str, second: str) -> None:
    p.ensure_equal(zero_point(data), 0, first, ("input->params.zero_point", "0"))
    p.ensure_equal(zero_point(output), 0, second, ("output->params.zero_point", "0"))
