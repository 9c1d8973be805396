"""Operators of a `.tflite` file as layers: the numbers that TensorFlow Lite Micro hands to CMSIS-NN."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, cast

from firmware_check import reference
from firmware_check.program import Array
from firmware_check.quantized_constants import ADD_LEFT_SHIFT, add_constants, softmax_constants
from firmware_check.reading.unreadable import Unsupported
from firmware_check.tflite.operator import WITHOUT_CALL, TfliteLayer
from firmware_check.tflite.state import ACTIVATIONS, TfliteSpace, bounds
from firmware_check.tflite.weighted import convolution, dense, transposed
from onnxlint_cmsis.model.fixed_point import quantize_multiplier

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.tflite.file_model import TfliteOperator
    from onnxlint_cmsis.runtimes.tflm.verdicts import TflmOperator


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
