"""Layers with weights in a build without CMSIS-NN: K/conv.cc and its like instead of K/cmsis_nn/conv.cc.

Prepare of most of them is in K/*_common.cc. No function of CMSIS-NN is called, and scratch unpacks int4 weights.
"""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.formats.tflite.file_model import TfliteTensor
from onnxlint_cmsis.runtimes.tflm.convolution_checks import (
    ACTIVATIONS,
    HYBRID,
    PAIRS,
    check_inputs,
    check_scales,
    check_steps,
)
from onnxlint_cmsis.runtimes.tflm.convolution_kernels import forgotten_bias, ignored_zero_point
from onnxlint_cmsis.runtimes.tflm.dense_kernels import (
    QUANTIZATION_BYTES,
    SHAPE_BYTES,
    dense_quantization,
    is_per_channel,
    transposed_copy,
)
from onnxlint_cmsis.runtimes.tflm.operator_view import INTEGER, quantized, zero_point
from onnxlint_cmsis.runtimes.tflm.preparation import Preparation, Refused, Stage, Unpredictable
from onnxlint_cmsis.runtimes.tflm.reference_kernels import CONVOLUTION_SCALES, DEPTHWISE_SCALES, TRANSPOSED_SCALES

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
