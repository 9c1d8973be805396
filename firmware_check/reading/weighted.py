"""Convolutions, transposed convolutions and fully connected layers: weights, biases, multipliers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from firmware_check.numbers import quantize_multiplier
from firmware_check.program import Array, Step, Value
from firmware_check.reading.sink import Sink, sink_of
from firmware_check.reading.unsupported import Unsupported
from firmware_check.reading.views import channels_last, reshaped

if TYPE_CHECKING:
    from firmware_check.program import Elements
    from firmware_check.reading.constants import Weights
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.lower.layer import Layer

BIAS = {8: ("int32_t", 32), 16: ("int64_t", 48)}
"""Bits of the activations to the C type of a bias and the bits that TensorFlow Lite rescales it in."""

MOST_SHIFT = 30
"""Largest shift to the left that TensorFlow Lite gives a multiplier."""


def build_convolution(builder: Builder, node: Node) -> None:
    """Conv: OHWI weights, or 1HWO where it is depthwise."""
    layer = _layer(builder, node)
    source = _input(builder, node, layer)
    weights = _symmetric(builder.constants.weights(node.inputs[1]))
    sink = sink_of(builder, node, may_add=True)
    depthwise = layer.call.entry.startswith("depthwise")
    integers = _two_dimensional(weights.integers)
    laid_out = integers.transpose(2, 3, 1, 0) if depthwise else integers.transpose(0, 2, 3, 1)
    scales = source.quantization.scale * weights.scales_along(0, weights.integers.shape[0])
    reason = ""
    if layer.groups > 1 and (source.quantization.bits == 16 or not builder.library.since("6.0.0")):
        reason = f"CMSIS-NN {builder.library.release} computes a grouped convolution as a dense one"
    arrays = _arrays(laid_out, _bias(builder, node, sink, scales), scales, sink)
    output = _output(builder, node, sink)
    form = "depthwise" if depthwise else "convolve"
    numbers = {"limits": sink.limits}
    builder.add(Step(node.label, node.op_type, form, (source,), output, layer.call, "", arrays, numbers, reason))


def build_transpose(builder: Builder, node: Node) -> None:
    """ConvTranspose: weights [in_c, out_c, h, w] become OHWI."""
    layer = _layer(builder, node)
    source = _input(builder, node, layer)
    weights = _symmetric(builder.constants.weights(node.inputs[1]))
    sink = sink_of(builder, node, may_add=True)
    laid_out = _two_dimensional(weights.integers).transpose(1, 2, 3, 0)
    scales = source.quantization.scale * weights.scales_along(1, weights.integers.shape[1])
    arrays = _arrays(laid_out, _bias(builder, node, sink, scales), scales, sink)
    output = _output(builder, node, sink)
    numbers = {"limits": sink.limits}
    step = Step(
        node.label, node.op_type, "transpose_conv", (source,), output, layer.call, "", arrays, numbers,
        scratch=4 * output.count,
    )  # fmt: skip
    builder.add(step)


def build_dense(builder: Builder, node: Node) -> None:
    """Gemm and MatMul with a constant factor: weights [out_c, depth], columns in the order of the input's memory."""
    layer = _layer(builder, node)
    if not layer.call.entry.startswith("fully_connected"):
        raise Unsupported("a product of two activations has no form in this firmware")
    if node.int("transA") or _factors(node) != (1.0, 1.0):
        raise Unsupported("its transA, alpha or beta is not the usual one")
    source = builder.known(node.inputs[0])
    weights = builder.constants.weights(node.inputs[1])
    transposed = bool(node.int("transB"))
    integers = weights.integers if transposed else weights.integers.T
    out_c, depth = integers.shape
    sink = sink_of(builder, node, may_add=True)
    laid_out = reordered_columns(source, integers)
    if laid_out is None:
        source = builder.ordered(node, source, tuple(range(len(source.shape))))
        laid_out = integers
    scales = source.quantization.scale * weights.scales_along(0 if transposed else 1, out_c)
    bias = _bias(builder, node, sink, scales)
    arrays = _arrays(laid_out, bias, scales if weights.scales.size > 1 else scales[:1], sink)
    output = _output(builder, node, sink, (*source.shape[:-1], out_c))
    numbers = {
        "limits": sink.limits, "filter_offset": -weights.zero_point, "per_channel": weights.scales.size > 1,
        "depth": depth,
    }  # fmt: skip
    reason = _not_dense(builder, source, weights)
    builder.add(
        Step(node.label, node.op_type, "fully_connected", (source,), output, layer.call, "", arrays, numbers, reason)
    )


def _not_dense(builder: Builder, source: Value, weights: Weights) -> str:
    """Why no function of the release computes a fully connected layer; empty where one does."""
    release = builder.library.release
    wide = source.quantization.bits == 16
    if weights.zero_point and (wide or not builder.library.since("6.0.0")):
        return f"CMSIS-NN {release} ignores the zero-point of a fully connected layer's weights"
    if weights.scales.size > 1 and (wide or not builder.library.since("7.0.0")):
        return f"CMSIS-NN {release} has one scale for a fully connected layer's weights, not {weights.scales.size}"
    return ""


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


def _factors(node: Node) -> tuple[object, object]:
    return node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)


def _layer(builder: Builder, node: Node) -> Layer:
    if node.index not in builder.layers:
        raise Unsupported(builder.refused.get(node.index, f"{node.op_type} has no form in CMSIS-NN here"))
    return builder.layers[node.index]


def _input(builder: Builder, node: Node, layer: Layer) -> Value:
    """The activation in channels-last order, from in front of Pad nodes that the call includes."""
    name = node.inputs[0]
    for _ in layer.folded:
        quantize = builder.graph.producers[name]
        if quantize.op_type == "DequantizeLinear":
            quantize = builder.graph.producers[builder.graph.producers[quantize.inputs[0]].inputs[0]]
        name = quantize.inputs[0]
    value = builder.known(name)
    return builder.ordered(node, value, channels_last(len(value.shape)))


def _two_dimensional(integers: Elements) -> Elements:
    return integers[:, :, None, :] if integers.ndim == 3 else integers


def _output(builder: Builder, node: Node, sink: Sink, shape: tuple[int, ...] | None = None) -> Value:
    shape = builder.shape(node.outputs[0]) if shape is None else shape
    order = tuple(range(len(shape))) if node.is_op("Gemm", "MatMul") else channels_last(len(shape))
    output = builder.new(sink.tensor, shape, order, sink.quantization)
    final = builder.graph.shape(sink.tensor)
    return output if final in (None, shape) else reshaped(output, builder.shape(sink.tensor))


def _symmetric(weights: Weights) -> Weights:
    if weights.zero_point:
        raise Unsupported(f"its weights have the zero-point {weights.zero_point}; CMSIS-NN's convolutions take 0")
    return weights


def _arrays(laid_out: Elements, bias: Elements, scales: Elements, sink: Sink) -> tuple[Array, ...]:
    """Weights, bias, and a multiplier and shift for each scale."""
    bias_type, bits = BIAS[sink.quantization.bits]
    bias = np.clip(bias, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    multipliers = [quantize_multiplier(scale / sink.quantization.scale) for scale in scales]
    if max(each.shift for each in multipliers) > MOST_SHIFT:
        raise Unsupported(f"its scales make a multiplier of 2^{MOST_SHIFT} or more")
    return (
        Array("weights", "int8_t", np.ascontiguousarray(laid_out).reshape(-1)),
        Array("bias", bias_type, bias.astype(np.int64)),
        Array("multipliers", "int32_t", np.array([each.value for each in multipliers])),
        Array("shifts", "int32_t", np.array([each.shift for each in multipliers])),
    )


def _bias(builder: Builder, node: Node, sink: Sink, scales: Elements) -> Elements:
    """Whole bias in units of input scale times weight scale: the third input and what is added behind."""
    total = np.zeros(scales.size)
    if len(node.inputs) > 2 and node.inputs[2]:
        total = total + _per_channel(builder.constants.real(node.inputs[2]), scales.size, -1)
    if sink.added is not None:
        axis = -1 if node.is_op("Gemm", "MatMul") else 1 - len(builder.shape(node.outputs[0]))
        total = total + _per_channel(sink.added, scales.size, axis)
    return np.rint(total / scales)


def _per_channel(array: Elements, channels: int, axis: int) -> Elements:
    """A constant that is added along the channels alone."""
    if array.size == 1:
        return np.full(channels, array.reshape(-1)[0])
    along = array.shape[axis] if -axis <= array.ndim else 1
    if array.size != channels or along != channels or prod(array.shape) != along:
        raise Unsupported(
            f"a constant of shape {array.shape} is added to {channels} channels; a bias has one value each"
        )
    return array.reshape(-1)
