"""TRANSPOSE_CONV."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.convolution_checks import (
    PAIRS,
    check_inputs,
    check_scales,
    check_steps,
    check_types,
    dims,
    stride_of,
)
from onnxlint_cmsis.runtimes.tflm.geometry import window
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, OperatorView, quantized
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Stage
from onnxlint_cmsis.runtimes.tflm.reference_kernels import TRANSPOSED_SCALES
from onnxlint_cmsis.types import KernelCall, Pair


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
