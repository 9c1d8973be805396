"""A whole `.tflite` model as a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from firmware_check import reference
from firmware_check.errors import FirmwareError
from firmware_check.program import (
    ADD_LEFT_SHIFT,
    Array,
    Program,
    Quantization,
    Step,
    Value,
    add_constants,
    softmax_constants,
)
from firmware_check.reading.forms import Unsupported, formed
from firmware_check.reading.layers import BIAS
from onnxlint_cmsis.formats.tflite.arrays import array_of
from onnxlint_cmsis.formats.tflite.to_graph import main_keys
from onnxlint_cmsis.ground.types import Function, Isa, Target
from onnxlint_cmsis.lower.activation_refusals import WIDENING
from onnxlint_cmsis.model.fixed_point import Multiplier, quantize_multiplier
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.dense import INT32_BIAS
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.preparation import Stage

if TYPE_CHECKING:
    from firmware_check.library import Library
    from firmware_check.program import Elements
    from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator


# State of one walk over a `.tflite` model: values in the device's memory, and the layers that make them.


BITS = {"INT8": 8, "INT16": 16}
ACTIVATIONS = {
    "NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0),
}  # fmt: skip
"""Bounds of fused activations."""


def bounds(quantization: Quantization, real: tuple[float | None, float | None]) -> tuple[int, int]:
    """Integers that a real range stands for, within those of the type (CalculateActivationRangeQuantized)."""
    low, high = (None if bound is None else _integer(quantization, bound) for bound in real)
    lowest = quantization.lowest if low is None else max(quantization.lowest, low)
    return lowest, quantization.highest if high is None else min(quantization.highest, high)


def _integer(quantization: Quantization, bound: float) -> int:
    """Nearest integer, half away from zero, in single precision as there."""
    steps = float(np.float32(bound) / np.float32(quantization.scale))
    return quantization.zero_point + int(np.copysign(np.floor(abs(steps) + 0.5), steps))


class TfliteSpace:
    """Values known so far and layers made so far."""

    def __init__(self, model: TfliteModel, library: Library) -> None:
        self.model = model
        self.library = library
        self.main = model.subgraphs[0]
        self.keys = main_keys(self.model)
        self.values: dict[int, Value] = {}
        """Activations by the number of their tensor."""
        self.inputs: list[Value] = []
        """Values that the host writes."""
        self.steps: list[Step] = []
        self._buffers = 0

    def tensor(self, index: int) -> TfliteTensor:
        """A tensor of the main subgraph; Unsupported for an omitted one."""
        if index < 0:
            raise Unsupported("an input that it needs is omitted")
        return self.main.tensors[index]

    def known(self, index: int) -> Value:
        """The value that a tensor is; one that nothing on the device makes is written by the host."""
        if self.model.is_constant(self.tensor(index)):
            raise Unsupported(f"its operand '{self.keys[index]}' is constant")
        if index not in self.values:
            raise Unsupported(f"nothing makes its input '{self.keys[index]}' on the device")
        return self.values[index]

    def host_value(self, index: int) -> None:
        """Let the host write a tensor."""
        self.values[index] = self.new(index)
        self.inputs.append(self.values[index])

    def new(self, index: int) -> Value:
        """A new value with a new buffer, in the order of the file."""
        self._buffers += 1
        shape = self.tensor(index).shape
        return Value(self.keys[index], self._buffers - 1, shape, tuple(range(len(shape))), self.quantization(index))

    def view(self, source: Value, index: int) -> Value:
        """The same memory as another tensor."""
        shape = self.tensor(index).shape
        return replace(source, tensor=self.keys[index], shape=shape, order=tuple(range(len(shape))))

    def quantization(self, index: int) -> Quantization:
        """Scale and zero-point of an activation."""
        tensor = self.tensor(index)
        stored, bits = tensor.quantization, BITS.get(tensor.elem_type)
        if bits is None or stored is None or len(stored.scales) != 1:
            raise Unsupported(f"'{self.keys[index]}' is {tensor.elem_type} and no int8 or int16 of one scale")
        return Quantization(stored.scales[0], (*stored.zero_points, 0)[0], bits)

    def scales(self, index: int, count: int) -> list[float]:
        """Scales of weights, one for each channel."""
        stored = self.tensor(index).quantization
        if stored is None or len(stored.scales) not in (1, count):
            raise Unsupported(f"'{self.keys[index]}' has no scale, or not one for each channel")
        return list(stored.scales) * (count if len(stored.scales) == 1 else 1)

    def numbers(self, index: int) -> np.ndarray[Any, Any]:
        """Values of a constant."""
        tensor = self.tensor(index)
        array = array_of(self.model, tensor) if self.model.is_constant(tensor) else None
        if array is None:
            raise Unsupported(f"'{self.keys[index]}' is computed, or stored in a form that is not read")
        return array

    def limits(self, operator: TfliteOperator) -> tuple[int, int]:
        """Smallest and largest integer of the output, with the fused activation (CalculateActivationRangeQuantized)."""
        quantization = self.quantization(operator.outputs[0])
        name = str(operator.options.get("fused_activation_function", "NONE"))
        if name not in ACTIVATIONS:
            raise Unsupported(f"its activation {name} is not generated")
        return bounds(quantization, ACTIVATIONS[name])

    def add(self, step: Step, index: int) -> None:
        """A layer, by the function of its form or in reference code."""
        form = formed(step, self.library)
        self.steps.append(form)
        self.values[index] = form.output


# One operator of a `.tflite` file on its way to a layer, with what every builder needs.


WITHOUT_CALL = "TensorFlow Lite Micro computes it in reference code"


class TfliteLayer:
    """One operator with what every builder needs."""

    def __init__(self, space: TfliteSpace, operator: TfliteOperator, row: TflmOperator) -> None:
        self.space = space
        self.operator = operator
        self.row = row
        self.output = operator.outputs[0]
        self.reason = "" if row.functions else WITHOUT_CALL

    def source(self, position: int = 0) -> Value:
        """The activation at an input."""
        return self.space.known(self.operator.inputs[position])

    def step(self, form: str, inputs: tuple[Value, ...], arrays: tuple[Array, ...] = (), **numbers: object) -> None:
        """Add the layer; the call is the interpreter's."""
        output = self.space.new(self.output)
        call = self.row.call if not self.reason else None
        if call is None and not self.reason:
            raise Unsupported(f"this firmware has no call of {', '.join(self.row.functions)}")
        widens = call is not None and call.entry in WIDENING
        if not widens and any(value.quantization.bits != output.quantization.bits for value in inputs):
            raise Unsupported("its input and output have integers of different widths")
        label = f"{self.operator.title}#{self.row.index}"
        limits = {"limits": self.space.limits(self.operator), **numbers}
        step = Step(label, self.operator.title, form, inputs, output, call, "", arrays, limits, self.reason)
        self.space.add(step, self.output)


# Convolutions and dense layers of a `.tflite` file: weights, biases, multipliers.


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


# Operators of a `.tflite` file as layers: the numbers that TensorFlow Lite Micro hands to CMSIS-NN.


def pool(layer: TfliteLayer) -> None:
    """AVERAGE_POOL_2D and MAX_POOL_2D."""
    form = "avgpool" if layer.operator.op == "AVERAGE_POOL_2D" else "max_pool"
    layer.step(form, (layer.source(),), rescale=quantize_multiplier(1.0), whole=False)


def elementwise(layer: TfliteLayer) -> None:
    """ADD and MUL of equal shapes."""
    first, second = layer.source(0), layer.source(1)
    if first.shape != second.shape:
        raise Unsupported("the shapes of its operands differ")
    first_scale, second_scale = first.quantization.scale, second.quantization.scale
    result = layer.space.quantization(layer.output).scale
    left_shift = ADD_LEFT_SHIFT[first.quantization.bits]
    layer.step(
        layer.operator.op.lower(),
        (first, second),
        offsets=(-first.quantization.zero_point, -second.quantization.zero_point),
        scales=(first_scale / result, second_scale / result),
        constants=add_constants(first_scale, second_scale, result, left_shift=left_shift),
        left_shift=left_shift,
        output=quantize_multiplier(first_scale * second_scale / result),
    )


def extreme(layer: TfliteLayer) -> None:
    """MAXIMUM and MINIMUM: the function repeats an operand along axes of size 1; either may be constant."""
    values, arrays, constant = [], [], None
    for position, index in enumerate(layer.operator.inputs[:2]):
        if layer.space.model.is_constant(layer.space.tensor(index)):
            arrays.append(Array("operand", "int8_t", layer.space.numbers(index).reshape(-1)))
            constant = position
        else:
            values.append(layer.source(position))
    if not values:
        raise Unsupported("both of its operands are constant")
    layer.step(layer.operator.op.lower(), tuple(values), tuple(arrays), constant=constant)


def softmax(layer: TfliteLayer) -> None:
    """SOFTMAX over the last axis."""
    source = layer.source()
    beta = float(cast(float, layer.operator.options.get("beta", 1.0)))
    row = source.shape[-1]
    scale, rows = source.quantization.scale * beta, prod(source.shape[:-1])
    if source.quantization.bits == 16:
        tables = {"exponentials": reference.exponentials(), "reciprocals": reference.reciprocals()}
        arrays = tuple(Array(name, "int16_t", values) for name, values in tables.items())
        constants: object = reference.multiplier(scale)
        layer.step("softmax", (source,), arrays, rows=rows, row=row, constants=constants)
        return
    layer.step("softmax", (source,), rows=rows, row=row, constants=softmax_constants(scale))


def pad(layer: TfliteLayer) -> None:
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
        [padding] * missing + [int(number) for number in numbers]
        for padding, numbers in ((1, source.shape), (0, amounts[:, 0]), (0, amounts[:, 1]))
    )
    layer.step("pad", (source,), size=size, before=before, after=after, fill=fill)


def requantize(layer: TfliteLayer) -> None:
    """QUANTIZE between integers, RELU and RELU6: a change of scale, perhaps with bounds."""
    source, result = layer.source(), layer.space.quantization(layer.output)
    limits = bounds(result, ACTIVATIONS[layer.operator.op if layer.operator.op in ACTIVATIONS else "NONE"])
    rescale = quantize_multiplier(source.quantization.scale / result.scale)
    layer.step("requantize", (source,), limits=limits, rescale=rescale)


def concatenation(layer: TfliteLayer) -> None:
    """CONCATENATION: one copying loop for each input."""
    values = tuple(layer.space.known(index) for index in layer.operator.inputs)
    result = layer.space.tensor(layer.output)
    axis = int(cast(int, layer.operator.options.get("axis", 0))) % len(result.shape)
    scale = layer.space.quantization(layer.output).scale
    layer.step(
        "concat",
        values,
        outer=prod(result.shape[:axis]),
        rows=[value.shape[axis] for value in values],
        inner=prod(result.shape[axis + 1 :]),
        total=result.shape[axis],
        rescales=[quantize_multiplier(value.quantization.scale / scale) for value in values],
    )


BUILDERS: dict[str, Callable[[TfliteLayer], None]] = {
    "CONV_2D": convolution,
    "DEPTHWISE_CONV_2D": convolution,
    "TRANSPOSE_CONV": transposed,
    "FULLY_CONNECTED": dense,
    "AVERAGE_POOL_2D": pool,
    "MAX_POOL_2D": pool,
    "ADD": elementwise,
    "MUL": elementwise,
    "MAXIMUM": extreme,
    "MINIMUM": extreme,
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
    builder(TfliteLayer(space, operator, row))


# The walk over a `.tflite` model that makes its Program from the calls of TensorFlow Lite Micro.


VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators whose output is the same memory."""


def tflite_program(model: TfliteModel, library: Library) -> Program:
    """The layers of the main subgraph.

    Raises:
        FirmwareError: the model has no layer for CMSIS-NN.

    """
    build_of = TflmBuild(Target("", Isa.SCALAR, library.release), own_library=False)
    rows = [row for row in interpret(model, build_of).operators if row.subgraph == 0]
    space = TfliteSpace(model, library)
    foreign: list[tuple[str, str]] = []
    for index in model.subgraphs[0].inputs:
        _host(space, index)
    for operator, row in zip(space.main.operators, rows, strict=True):
        try:
            _operator(space, operator, row)
        except Unsupported as error:
            foreign.append((f"{operator.title}#{row.index}", str(error)))
            for index in operator.outputs:
                _host(space, index)
    if not any(step.call is not None for step in space.steps):
        reasons = "; ".join(f"{label}: {reason}" for label, reason in foreign[:3])
        raise FirmwareError("no layer that CMSIS-NN can run" + (f" ({reasons})" if reasons else ""))
    # Of an output that DEQUANTIZE makes, the integers in front.
    behind = {op.outputs[0]: op.inputs[0] for op in space.main.operators if op.op == "DEQUANTIZE"}
    integers = [behind.get(index, index) for index in space.main.outputs]
    outputs = tuple(space.values[index] for index in integers if index in space.values)
    read = {value.buffer for step in space.steps for value in step.inputs}
    inputs = tuple(value for value in space.inputs if value.buffer in read)
    return Program(inputs, tuple(space.steps), outputs, tuple(foreign))


def _operator(space: TfliteSpace, operator: TfliteOperator, row: TflmOperator) -> None:
    """One operator: a layer, the same memory, or the change to and from float at the model's ends."""
    if row.stage in ("registration", Stage.PREPARE):
        raise Unsupported(row.reason)
    if not operator.inputs or not operator.outputs:
        raise Unsupported("it has no input or no output")
    types = [space.tensor(index).elem_type for index in (operator.inputs[0], operator.outputs[0])]
    if operator.op == "QUANTIZE" and types[0] == "FLOAT32":
        _host(space, operator.outputs[0])
    elif operator.op == "DEQUANTIZE":
        return
    elif operator.op in VIEWS:
        space.values[operator.outputs[0]] = space.view(space.known(operator.inputs[0]), operator.outputs[0])
    else:
        build(space, operator, row)


def _host(space: TfliteSpace, index: int) -> None:
    """Let the host write a tensor where the device could hold it."""
    try:
        space.host_value(index)
    except Unsupported:
        return
