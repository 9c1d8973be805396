"""Sums and products of two activations, or of one and a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firmware_check.numbers import ADD_LEFT_SHIFT, add_constants, quantize_multiplier
from firmware_check.program import Array, Step
from firmware_check.reading.lookups import build_arithmetic, one_number
from firmware_check.reading.moves import expanded
from firmware_check.reading.sink import like, sink_of
from firmware_check.reading.unsupported import Unsupported

if TYPE_CHECKING:
    from firmware_check.program import Value
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.graph.model import Node


def build_add(builder: Builder, node: Node) -> None:
    """Addition of two activations, or of one and a constant."""
    _elementwise(builder, node, "add")


def build_mul(builder: Builder, node: Node) -> None:
    """Product of two activations, or of one and a constant."""
    _elementwise(builder, node, "mul")


def _elementwise(builder: Builder, node: Node, form: str) -> None:
    if len(node.inputs) != 2:
        raise Unsupported(f"it has {len(node.inputs)} operands; two are supported")
    if one_number(builder, node):
        build_arithmetic(builder, node)
        return
    first, second, arrays = _operands(builder, node)
    sink = sink_of(builder, node)
    scales = first.quantization.scale, second.quantization.scale, sink.quantization.scale
    left_shift = ADD_LEFT_SHIFT[first.quantization.bits]
    numbers: dict[str, object] = {
        "limits": sink.limits,
        "offsets": (-first.quantization.zero_point, -second.quantization.zero_point),
        "scales": (scales[0] / scales[2], scales[1] / scales[2]),
        "constants": add_constants(*scales, left_shift=left_shift),
        "left_shift": left_shift,
        "output": quantize_multiplier(scales[0] * scales[1] / scales[2]),
    }
    layer = builder.layers.get(node.index)
    inputs = (first,) if arrays else (first, second)
    reason = "one operand is a constant or is broadcast" if arrays or layer is None else ""
    step = Step(
        node.label, node.op_type, form, inputs, like(builder, node, sink, first), layer.call if layer else None, "",
        arrays, numbers, reason, True,
    )  # fmt: skip
    builder.add(step)


def _operands(builder: Builder, node: Node) -> tuple[Value, Value, tuple[Array, ...]]:
    """Both operands in one memory order; a constant one as an array of the output's size."""
    fixed = [builder.constants.fixed(name) for name in node.inputs]
    if any(fixed):
        return _with_constant(builder, node, node.inputs[0] if fixed[1] else node.inputs[1], node.inputs[int(fixed[1])])
    first, second = (builder.plain(node, builder.known(name)) for name in node.inputs)
    shape = builder.shape(node.outputs[0])
    order = next((value.order for value in (first, second) if value.shape == shape), tuple(range(len(shape))))
    first, second = (
        builder.ordered(node, value, order) if value.shape == shape else expanded(builder, node, value, shape, order)
        for value in (first, second)
    )
    return first, second, ()


def _with_constant(builder: Builder, node: Node, name: str, constant: str) -> tuple[Value, Value, tuple[Array, ...]]:
    """An operand that the file fixes, quantized as the file quantizes it, laid out like the other."""
    value = builder.plain(node, builder.known(name))
    producer = builder.graph.producers.get(constant)
    if producer is None or producer.op_type != "DequantizeLinear":
        raise Unsupported("one operand is a float constant that is not quantized")
    quantization = builder.constants.quantization(producer)
    integers = builder.constants.array(producer.inputs[0])
    full = np.broadcast_to(integers, builder.shape(node.outputs[0]))
    if full.shape != value.shape:
        raise Unsupported(
            f"its operands have shapes {value.shape} and {integers.shape}; only the constant is broadcast"
        )
    other = builder.new(constant, value.shape, value.order, quantization)
    builder.buffers -= 1
    laid_out = other.to_memory(other.integers(full))
    return value, other, (Array("operand", "int8_t", np.ascontiguousarray(laid_out)),)
