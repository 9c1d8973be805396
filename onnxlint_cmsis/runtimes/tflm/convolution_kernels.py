"""CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.convolution_checks import (
    check_inputs,
    check_scales,
    check_steps,
    check_types,
    dilation_of,
    dims,
    stride_of,
    zero_points_are_zero,
)
from onnxlint_cmsis.runtimes.tflm.geometry import window
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, quantized
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Stage
from onnxlint_cmsis.runtimes.tflm.reference_kernels import CONVOLUTION_SCALES, DEPTHWISE_SCALES
from onnxlint_cmsis.runtimes.tflm.revisions import TflmDefect
from onnxlint_cmsis.types import KernelCall, Pair

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
