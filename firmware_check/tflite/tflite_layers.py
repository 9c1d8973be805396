"""Operators of a `.tflite` file as layers: the numbers that TensorFlow Lite Micro hands to CMSIS-NN."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from firmware_check import softmax_s16
from firmware_check.numbers import ADD_LEFT_SHIFT, Multiplier, add_constants, quantize_multiplier, softmax_constants
from firmware_check.program import Array, Step
from firmware_check.reading.unsupported import Unsupported
from firmware_check.reading.weighted import BIAS
from firmware_check.tflite.tflite_space import ACTIVATIONS, bounds
from onnxlint_cmsis.runtimes.tflm.dense_kernels import INT32_BIAS

if TYPE_CHECKING:
    from firmware_check.program import Elements, Quantization, Value
    from firmware_check.tflite.tflite_space import TfliteSpace
    from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator

WITHOUT_CALL = "TensorFlow Lite Micro computes it in reference code"


class _Layer:
    """One operator with what every builder needs."""

    def __init__(self, space: TfliteSpace, operator: TfliteOperator, row: TflmOperator) -> None:
        self.space = space
        self.operator = operator
        self.row = row
        self.output = operator.outputs[0]
        self.reason = "" if row.functions else WITHOUT_CALL

    def source(self, position: int = 0) -> Value:
        return self.space.known(self.operator.inputs[position])

    def step(self, form: str, inputs: tuple[Value, ...], arrays: tuple[Array, ...] = (), **numbers: object) -> None:
        """Add the layer; the call is the interpreter's."""
        output = self.space.new(self.output)
        call = self.row.call if not self.reason else None
        if call is None and not self.reason:
            raise Unsupported(f"this firmware has no call of {', '.join(self.row.functions)}")
        if any(value.quantization.bits != output.quantization.bits for value in inputs):
            raise Unsupported("its input and output have integers of different widths")
        label = f"{self.operator.title}#{self.row.index}"
        limits = {"limits": self.space.limits(self.operator), **numbers}
        step = Step(label, self.operator.title, form, inputs, output, call, "", arrays, limits, self.reason)
        self.space.add(step, self.output)


def convolution(layer: _Layer) -> None:
    """CONV_2D and DEPTHWISE_CONV_2D: weights lie as the kernels read them."""
    depthwise = layer.operator.op == "DEPTHWISE_CONV_2D"
    weights = _weights(layer, 1)
    channels = weights.shape[3 if depthwise else 0]
    multipliers = _multipliers(layer, layer.space.scales(layer.operator.inputs[1], channels), layer.source())
    arrays = (*_weights_and_bias(layer, weights, 2), *multipliers)
    layer.step("depthwise" if depthwise else "convolve", (layer.source(),), arrays)


def transposed(layer: _Layer) -> None:
    """TRANSPOSE_CONV: the output's shape is the first input."""
    weights = _weights(layer, 1)
    source = layer.source(2)
    multipliers = _multipliers(layer, layer.space.scales(layer.operator.inputs[1], weights.shape[0]), source)
    layer.step("transpose_conv", (source,), (*_weights_and_bias(layer, weights, 3), *multipliers))


def dense(layer: _Layer) -> None:
    """FULLY_CONNECTED; an output of more than two dimensions is a 1x1 convolution."""
    if INT32_BIAS in layer.row.own:
        raise Unsupported(f"{INT32_BIAS} in TensorFlow Lite Micro")
    weights, source = _weights(layer, 1), layer.source()
    channels = weights.shape[0]
    scales = layer.space.scales(layer.operator.inputs[1], channels)
    several = len(set(scales)) > 1
    convolves = layer.row.call is not None and layer.row.call.entry.startswith("convolve")
    if not several:
        real = source.quantization.scale * scales[0] / layer.space.quantization(layer.output).scale
        one = quantize_multiplier(real)
        multipliers = _pairs([one] * (channels if convolves else 1))
    else:
        multipliers = _multipliers(layer, scales, source)
    arrays = (*_weights_and_bias(layer, weights, 2), *multipliers)
    if convolves:
        layer.step("convolve", (source,), arrays)
        return
    stored = layer.space.tensor(layer.operator.inputs[1]).quantization
    offset = -(*stored.zero_points, 0)[0] if stored else 0
    layer.step("fully_connected", (source,), arrays, filter_offset=offset, per_channel=several, depth=weights.shape[-1])


def pool(layer: _Layer) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    form = "avgpool" if layer.operator.op == "AVERAGE_POOL_2D" else "max_pool"
    layer.step(form, (layer.source(),), rescale=quantize_multiplier(1.0), whole=False)


def elementwise(layer: _Layer) -> None:
    """ADD and MUL of equal shapes."""
    first, second = layer.source(0), layer.source(1)
    if first.shape != second.shape:
        raise Unsupported("the shapes of its operands differ")
    one, other = first.quantization.scale, second.quantization.scale
    result = layer.space.quantization(layer.output).scale
    left_shift = ADD_LEFT_SHIFT[first.quantization.bits]
    layer.step(
        layer.operator.op.lower(),
        (first, second),
        offsets=(-first.quantization.zero_point, -second.quantization.zero_point),
        scales=(one / result, other / result),
        constants=add_constants(one, other, result, left_shift=left_shift),
        left_shift=left_shift,
        output=quantize_multiplier(one * other / result),
    )


def softmax(layer: _Layer) -> None:
    """SOFTMAX over the last axis."""
    source = layer.source()
    beta = float(cast(float, layer.operator.options.get("beta", 1.0)))
    row = source.shape[-1]
    scale, rows = source.quantization.scale * beta, prod(source.shape[:-1])
    if source.quantization.bits == 16:
        tables = {"exponentials": softmax_s16.exponentials(), "reciprocals": softmax_s16.reciprocals()}
        made = tuple(Array(name, "int16_t", values) for name, values in tables.items())
        constants: object = softmax_s16.multiplier(scale)
        layer.step("softmax", (source,), made, rows=rows, row=row, constants=constants)
        return
    layer.step("softmax", (source,), rows=rows, row=row, constants=softmax_constants(scale))


def pad(layer: _Layer) -> None:
    """PAD and PADV2 of up to four axes."""
    source = layer.source()
    amounts = layer.space.numbers(layer.operator.inputs[1]).reshape(-1, 2)
    missing = 4 - len(source.shape)
    if missing < 0:
        raise Unsupported(f"it pads {len(source.shape)} axes; up to 4 are supported")
    fill = source.quantization.zero_point
    if len(layer.operator.inputs) > 2:
        fill = int(layer.space.numbers(layer.operator.inputs[2]).reshape(-1)[0])
    size, before, after = (
        [padding] * missing + [int(each) for each in numbers]
        for padding, numbers in ((1, source.shape), (0, amounts[:, 0]), (0, amounts[:, 1]))
    )
    layer.step("pad", (source,), size=size, before=before, after=after, fill=fill)


def requantize(layer: _Layer) -> None:
    """QUANTIZE between integers, RELU and RELU6: a change of scale, perhaps with bounds."""
    source, made = layer.source(), layer.space.quantization(layer.output)
    limits = bounds(made, ACTIVATIONS[layer.operator.op if layer.operator.op in ACTIVATIONS else "NONE"])
    rescale = quantize_multiplier(source.quantization.scale / made.scale)
    layer.step("requantize", (source,), limits=limits, rescale=rescale)


def concatenation(layer: _Layer) -> None:
    """CONCATENATION: one copying loop for each input."""
    values = tuple(layer.space.known(index) for index in layer.operator.inputs)
    made = layer.space.tensor(layer.output)
    axis = int(cast(int, layer.operator.options.get("axis", 0))) % len(made.shape)
    scale = layer.space.quantization(layer.output).scale
    layer.step(
        "concat",
        values,
        outer=prod(made.shape[:axis]),
        rows=[value.shape[axis] for value in values],
        inner=prod(made.shape[axis + 1 :]),
        total=made.shape[axis],
        rescales=[quantize_multiplier(value.quantization.scale / scale) for value in values],
    )


def _weights(layer: _Layer, position: int) -> Elements:
    tensor = layer.space.tensor(layer.operator.inputs[position])
    if tensor.elem_type != "INT8":
        raise Unsupported(f"its weights are {tensor.elem_type}; int8 is supported")
    return layer.space.numbers(layer.operator.inputs[position])


def _weights_and_bias(layer: _Layer, weights: Elements, position: int) -> tuple[Array, ...]:
    """Weights as they lie in the file, and a bias where there is one."""
    found = [Array("weights", "int8_t", np.ascontiguousarray(weights).reshape(-1))]
    inputs = layer.operator.inputs
    if len(inputs) > position and inputs[position] >= 0:
        c_type, _ = BIAS[layer.space.quantization(layer.output).bits]
        found.append(Array("bias", c_type, layer.space.numbers(inputs[position]).reshape(-1).astype(np.int64)))
    return tuple(found)


def _multipliers(layer: _Layer, scales: list[float], source: Value) -> tuple[Array, ...]:
    """A multiplier and shift for each channel (PopulateConvolutionQuantizationParams)."""
    made: Quantization = layer.space.quantization(layer.output)
    return _pairs([quantize_multiplier(source.quantization.scale * scale / made.scale) for scale in scales])


def _pairs(multipliers: list[Multiplier]) -> tuple[Array, ...]:
    return (
        Array("multipliers", "int32_t", np.array([each.value for each in multipliers])),
        Array("shifts", "int32_t", np.array([each.shift for each in multipliers])),
    )


BUILDERS: dict[str, Callable[[_Layer], None]] = {
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": convolution,
    "TRANSPOSE_CONV": transposed,
    "FULLY_CONNECTED": dense,
    "AVERAGE_POOL_2D": pool,
    "MAX_POOL_2D": pool,
    "ADD": elementwise,
    "MUL": elementwise,
    "SOFTMAX": softmax,
    "PAD": pad,
    "PADV2": pad,
    "QUANTIZE": requantize,
    "RELU": requantize,
    "RELU6": requantize,
    "CONCATENATION": concatenation,
}
"""Operators that become layers; RESHAPE and its like are the same memory."""


def build(space: TfliteSpace, operator: TfliteOperator, row: TflmOperator) -> None:
    """Add the layer of an operator. Raises Unsupported."""
    builder = BUILDERS.get(operator.op)
    if builder is None:
        called = ", ".join(row.functions)
        raise Unsupported(f"this firmware has no call of {called}" if called else f"{WITHOUT_CALL}, which is not run")
    builder(_Layer(space, operator, row))
