"""Sums, products and extremes of two activations, or of one and a constant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firmware_check.program import Array, Step, Value
from firmware_check.quantized_constants import ADD_LEFT_SHIFT, add_constants
from firmware_check.reading.copies import expanded
from firmware_check.reading.forms import CODES
from firmware_check.reading.results import like, result_of
from firmware_check.reading.state import Workspace, on_device
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.ground.types import Dims
from onnxlint_cmsis.lower.dims import is_image
from onnxlint_cmsis.lower.find_quantization import of_input
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.memory_order import channels_last, reshaped
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from onnxlint_cmsis.model.graph import Node


def build_elementwise(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Addition or product of two operands."""
    node = record.node
    first, second, arrays = _operands(space, node)
    result = result_of(space, record)
    scales = first.quantization.scale, second.quantization.scale, result.quantization.scale
    left_shift = ADD_LEFT_SHIFT[first.quantization.bits]
    numbers: dict[str, object] = {
        "limits": result.limits,
        "offsets": (-first.quantization.zero_point, -second.quantization.zero_point),
        "scales": (scales[0] / scales[2], scales[1] / scales[2]),
        "constants": add_constants(*scales, left_shift=left_shift),
        "left_shift": left_shift,
        "output": quantize_multiplier(scales[0] * scales[1] / scales[2]),
    }
    inputs = (first,) if arrays else (first, second)
    form = CODES[record.code or (record.call.function if record.call else "")]
    step = Step(
        node.label, node.op_type, form, inputs, like(space, node, result, first), record.call, "", arrays, numbers,
        reason, True,
    )  # fmt: skip
    space.add(step)


def build_extreme(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Maximum or minimum of two operands: the function repeats them along axes of size 1, so each keeps its shape."""
    node, call = record.node, record.call
    shape = space.shape(node.outputs[0])
    if call is None or len(shape) > len(call.output_dims):
        raise Unsupported(f"it has {len(shape)} axes; up to {len(Dims._fields)} are supported")
    plain = is_image(space.graph, node.outputs[0]) is False
    order = tuple(range(len(shape))) if plain else channels_last(len(shape))
    fixed = [position for position, name in enumerate(node.inputs) if space.stored.fixed(name)]
    values, arrays = [], []
    for position, name in enumerate(node.inputs):
        own = space.shape(name)
        whole = (*(1,) * (len(shape) - len(own)), *own)
        if position in fixed:
            template = Value(name, -1, whole, order, on_device(of_input(space.graph, node, position)))
            stored = space.stored.array(space.graph.producers[name].inputs[0]).reshape(whole)
            laid_out = template.to_memory(template.held(stored))
            arrays.append(Array("operand", "int8_t", np.ascontiguousarray(laid_out)))
        else:
            values.append(space.ordered(node, reshaped(space.plain(node, space.known(name)), whole), order))
    if not values:
        raise Unsupported("both of its operands are constant")
    result = result_of(space, record)
    output = like(space, node, result, replace(values[0], shape=shape, order=order, folded_from=None))
    numbers = {"limits": result.limits, "constant": next(iter(fixed), None)}
    step = Step(
        node.label, node.op_type, call.function, tuple(values), output, call, "", tuple(arrays), numbers, reason
    )  # fmt: skip
    space.add(step)


def _operands(space: Workspace, node: Node) -> tuple[Value, Value, tuple[Array, ...]]:
    """Both operands in one memory order; a constant one as an array of the output's size."""
    fixed = [position for position, name in enumerate(node.inputs) if space.stored.fixed(name)]
    if fixed:
        return _with_constant(space, node, fixed[0])
    first, second = (space.plain(node, space.known(name)) for name in node.inputs)
    shape = space.shape(node.outputs[0])
    order = next((value.order for value in (first, second) if value.shape == shape), tuple(range(len(shape))))
    first, second = (
        space.ordered(node, value, order) if value.shape == shape else expanded(space, node, value, shape, order)
        for value in (first, second)
    )
    return first, second, ()


def _with_constant(space: Workspace, node: Node, position: int) -> tuple[Value, Value, tuple[Array, ...]]:
    """An operand that the file fixes, quantized as the file quantizes it, laid out like the other."""
    value = space.plain(node, space.known(node.inputs[1 - position]))
    constant = node.inputs[position]
    integers = space.stored.array(space.graph.producers[constant].inputs[0])
    other = space.constant(constant, value, on_device(of_input(space.graph, node, position)))
    laid_out = other.to_memory(other.held(np.broadcast_to(integers, value.shape)))
    return value, other, (Array("operand", "int8_t", np.ascontiguousarray(laid_out)),)
