"""FULLY_CONNECTED and BATCH_MATMUL."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.convolution_checks import (
    ACTIVATIONS,
    HYBRID,
    PAIRS,
    UNSUPPORTED_INPUT,
    Tensors,
)
from onnxlint_cmsis.runtimes.tflm.geometry import activation_dims
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, quantized, tensor_bytes, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.reference_kernels import DENSE_ACTIVATION, DENSE_BIAS, hold
from onnxlint_cmsis.types import Dims, KernelCall

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
