"""AVERAGE_POOL_2D, MAX_POOL_2D and SOFTMAX."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.convolution_checks import UNSUPPORTED_INPUT, dims, stride_of
from onnxlint_cmsis.runtimes.tflm.geometry import NO_FILTER, window
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, scale, single, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Refused, Stage
from onnxlint_cmsis.runtimes.tflm.reference_kernels import POOLED_ACTIVATION, SOFTMAX_RANGE, hold
from onnxlint_cmsis.runtimes.tflm.revisions import TflmDefect
from onnxlint_cmsis.types import Dims, KernelCall, Pair

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
