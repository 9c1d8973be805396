"""Convolutions, transposed convolutions and fully connected layers: weights, biases, multipliers."""

from __future__ import annotations

import numpy as np

from firmware_check.program import Array, Elements, Step, Value
from firmware_check.quantized_constants import packed
from firmware_check.reading.results import LayerResult, result_of
from firmware_check.reading.state import Workspace
from firmware_check.reading.stored_numbers import IntegerWeights
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.memory_order import channels_last, reshaped
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Form

BIAS = {8: ("int32_t", 32), 16: ("int64_t", 48)}
"""Bits of the activations to the C type of a bias and the bits that TensorFlow Lite rescales it in."""


def build_convolution(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Conv: OHWI weights, or 1HWO where it is depthwise."""
    node, layer = record.node, layer_of(record)
    source = source_of(space, node, layer)
    weights = space.stored.weights(node.inputs[1])
    result = result_of(space, record)
    depthwise = layer.call.function is Function.DEPTHWISE
    integers = two_dimensional(weights.integers)
    laid_out = integers.transpose(2, 3, 1, 0) if depthwise else integers.transpose(0, 2, 3, 1)
    scales = source.quantization.scale * weights.scales_of(weights.integers.shape[0])
    bias = _bias(space, layer, result, scales)
    arrays = _arrays(weights, laid_out, bias, scales, result)
    output = _output(space, node, result)
    form = "depthwise" if depthwise else "convolve"
    numbers = {"limits": result.limits}
    space.add(Step(node.label, node.op_type, form, (source,), output, layer.call, "", arrays, numbers, reason))


def build_transpose(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """ConvTranspose: weights [in_c, out_c, h, w] become OHWI."""
    node, layer = record.node, layer_of(record)
    source = source_of(space, node, layer)
    weights = space.stored.weights(node.inputs[1])
    result = result_of(space, record)
    laid_out = two_dimensional(weights.integers).transpose(1, 2, 3, 0)
    scales = source.quantization.scale * weights.scales_of(weights.integers.shape[1])
    bias = _bias(space, layer, result, scales)
    arrays = _arrays(weights, laid_out, bias, scales, result)
    output = _output(space, node, result)
    numbers = {"limits": result.limits}
    step = Step(
        node.label, node.op_type, "transpose_conv", (source,), output, layer.call, "", arrays, numbers, reason,
        scratch=4 * output.count,
    )  # fmt: skip
    space.add(step)


def build_dense(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Gemm and MatMul with a constant factor: weights [out_c, depth], columns in the order of the input's memory."""
    node, layer = record.node, layer_of(record)
    source = space.known(node.inputs[0])
    weights = space.stored.weights(node.inputs[1])
    integers = weights.integers if node.int("transB") else weights.integers.T
    out_c, depth = integers.shape
    result = result_of(space, record)
    laid_out = reordered_columns(source, integers)
    if laid_out is None:
        source = space.ordered(node, source, tuple(range(len(source.shape))))
        laid_out = integers
    scales = source.quantization.scale * weights.scales_of(out_c) * node.number("alpha", 1.0)
    bias = _bias(space, layer, result, scales)
    several = weights.scales.size > 1
    arrays = _arrays(weights, laid_out, bias, scales if several else scales[:1], result)
    output = _output(space, node, result, (*source.shape[:-1], out_c))
    numbers = {
        "limits": result.limits, "filter_offset": -weights.zero_point, "per_channel": several, "depth": depth,
    }  # fmt: skip
    space.add(
        Step(node.label, node.op_type, "fully_connected", (source,), output, layer.call, "", arrays, numbers, reason)
    )


def reordered_columns(source: Value, weights: Elements) -> Elements | None:
    """Weights [out_c, depth] with their columns in the order in which the input's rows lie in memory.

    None where the rows do not lie one after the other in memory.
    """
    depth = weights.shape[1]
    places = np.argsort(source.to_memory(np.arange(source.count))).reshape(-1, depth)
    first = places[0]
    if any((row != first + depth * number).any() for number, row in enumerate(places)):
        return None
    laid_out = np.empty_like(weights)
    laid_out[:, first] = weights
    return laid_out


def layer_of(record: LoweredLayer) -> Layer:
    """The layer of a record; Unsupported with the record's reason where it is none."""
    if record.layer is None:
        raise Unsupported(record.reason)
    return record.layer


def source_of(space: Workspace, node: Node, layer: Layer) -> Value:
    """The activation in channels-last order, from in front of Pad nodes that the call includes."""
    name = node.inputs[0]
    for _ in layer.folded:
        before = space.graph.producers[name]
        if operator_of(before).dequantizes:
            before = space.graph.producers[space.graph.producers[before.inputs[0]].inputs[0]]
        name = before.inputs[0]
    value = space.known(name)
    return space.ordered(node, value, channels_last(len(value.shape)))


def two_dimensional(integers: Elements) -> Elements:
    """Weights of a convolution along a line, as those of an image of one row."""
    return integers[:, :, None, :] if integers.ndim == 3 else integers


def _output(space: Workspace, node: Node, result: LayerResult, shape: tuple[int, ...] | None = None) -> Value:
    shape = space.shape(node.outputs[0]) if shape is None else shape
    product = operator_of(node).roles.form in (Form.GEMM, Form.MATMUL)
    order = tuple(range(len(shape))) if product else channels_last(len(shape))
    output = space.new(result.tensor, shape, order, result.quantization)
    final = space.graph.shape(result.tensor)
    return output if final in (None, shape) else reshaped(output, space.shape(result.tensor))


def _arrays(
    weights: IntegerWeights, laid_out: Elements, bias: Elements | None, scales: Elements, result: LayerResult
) -> tuple[Array, ...]:
    """Weights, bias where there is one, and a multiplier and shift for each scale."""
    flat = np.ascontiguousarray(laid_out).reshape(-1)
    multipliers = [quantize_multiplier(scale / result.quantization.scale) for scale in scales]
    return (
        Array("weights", "int8_t", packed(flat) if weights.narrow else flat),
        *(() if bias is None else (_bias_array(bias, result.quantization.bits),)),
        Array("multipliers", "int32_t", np.array([multiplier.value for multiplier in multipliers])),
        Array("shifts", "int32_t", np.array([multiplier.shift for multiplier in multipliers])),
    )


def _bias_array(bias: Elements, bits: int) -> Array:
    """A bias in the type that goes with the activations, no larger than TensorFlow Lite rescales it."""
    if not np.isfinite(bias).all():
        raise Unsupported("its bias is infinite or no number")
    c_type, most = BIAS[bits]
    clipped = np.clip(bias, -(1 << (most - 1)), (1 << (most - 1)) - 1)
    return Array("bias", c_type, clipped.astype(np.int64))


def _bias(space: Workspace, layer: Layer, result: LayerResult, scales: Elements) -> Elements | None:
    """Whole bias in units of input scale times weight scale: the bias input and what is added behind; None for none."""
    node = layer.node
    if not layer.call.bias:
        return None
    total = np.zeros(scales.size)
    position = operator_of(node).roles.bias
    if node.has(position):
        total = total + space.stored.real(node.inputs[position]).reshape(-1) * node.number("beta", 1.0)
    if result.added is not None:
        total = total + result.added.reshape(-1)
    return np.rint(total / scales)
