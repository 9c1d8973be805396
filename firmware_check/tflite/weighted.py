"""Convolutions and dense layers of a `.tflite` file: weights, biases, multipliers."""

from __future__ import annotations

import numpy as np

from firmware_check.program import Array, Elements, Quantization, Value
from firmware_check.reading.unreadable import Unsupported
from firmware_check.reading.weighted import BIAS
from firmware_check.tflite.operator import TfliteLayer
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.model.fixed_point import Multiplier, quantize_multiplier
from onnxlint_cmsis.runtimes.tflm.dense import INT32_BIAS


def convolution(layer: TfliteLayer) -> None:
    """CONV_2D and DEPTHWISE_CONV_2D: weights lie as the kernels read them."""
    depthwise = layer.operator.op == "DEPTHWISE_CONV_2D"
    weights = _weights(layer, 1)
    channels = weights.shape[3 if depthwise else 0]
    multipliers = _multipliers(layer, layer.space.scales(layer.operator.inputs[1], channels), layer.source())
    arrays = (*_weights_and_bias(layer, weights, 2), *multipliers)
    layer.step("depthwise" if depthwise else "convolve", (layer.source(),), arrays)


def transposed(layer: TfliteLayer) -> None:
    """TRANSPOSE_CONV: the output's shape is the first input."""
    weights = _weights(layer, 1)
    source = layer.source(2)
    multipliers = _multipliers(layer, layer.space.scales(layer.operator.inputs[1], weights.shape[0]), source)
    layer.step("transpose_conv", (source,), (*_weights_and_bias(layer, weights, 3), *multipliers))


def dense(layer: TfliteLayer) -> None:
    """FULLY_CONNECTED; an output of more than two dimensions is a 1x1 convolution."""
    if any(reason.startswith(INT32_BIAS) for reason in layer.row.own):
        raise Unsupported(f"{INT32_BIAS} in TensorFlow Lite Micro")
    weights, source = _weights(layer, 1), layer.source()
    channels = weights.shape[0]
    scales = layer.space.scales(layer.operator.inputs[1], channels)
    several = len(set(scales)) > 1
    convolves = layer.row.call is not None and layer.row.call.function is Function.CONVOLVE
    if several and not convolves and not layer.space.library.since("7.0.0"):
        layer.reason = f"CMSIS-NN {layer.space.library.release} has no dense layer with a scale for each output"
    if not several:
        real = source.quantization.scale * scales[0] / layer.space.quantization(layer.output).scale
        multiplier = quantize_multiplier(real)
        multipliers = _pairs([multiplier] * (channels if convolves else 1))
    else:
        multipliers = _multipliers(layer, scales, source)
    arrays = (*_weights_and_bias(layer, weights, 2), *multipliers)
    if convolves:
        layer.step("convolve", (source,), arrays)
        return
    stored = layer.space.tensor(layer.operator.inputs[1]).quantization
    offset = -(*stored.zero_points, 0)[0] if stored else 0
    layer.step("fully_connected", (source,), arrays, filter_offset=offset, per_channel=several, depth=weights.shape[-1])


def _weights(layer: TfliteLayer, position: int) -> Elements:
    tensor = layer.space.tensor(layer.operator.inputs[position])
    if tensor.elem_type != "INT8":
        raise Unsupported(f"its weights are {tensor.elem_type}; int8 is supported")
    return layer.space.numbers(layer.operator.inputs[position])


def _weights_and_bias(layer: TfliteLayer, weights: Elements, position: int) -> tuple[Array, ...]:
    """Weights as they lie in the file, and a bias where there is one."""
    arrays = [Array("weights", "int8_t", np.ascontiguousarray(weights).reshape(-1))]
    inputs = layer.operator.inputs
    if len(inputs) > position and inputs[position] >= 0:
        c_type, _ = BIAS[layer.space.quantization(layer.output).bits]
        arrays.append(Array("bias", c_type, layer.space.numbers(inputs[position]).reshape(-1).astype(np.int64)))
    return tuple(arrays)


def _multipliers(layer: TfliteLayer, scales: list[float], source: Value) -> tuple[Array, ...]:
    """A multiplier and shift for each channel (PopulateConvolutionQuantizationParams)."""
    result: Quantization = layer.space.quantization(layer.output)
    return _pairs([quantize_multiplier(source.quantization.scale * scale / result.scale) for scale in scales])


def _pairs(multipliers: list[Multiplier]) -> tuple[Array, ...]:
    return (
        Array("multipliers", "int32_t", np.array([multiplier.value for multiplier in multipliers])),
        Array("shifts", "int32_t", np.array([multiplier.shift for multiplier in multipliers])),
    )
