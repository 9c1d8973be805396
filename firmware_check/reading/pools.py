"""Pooling, softmax, concatenation, padding, changes of scale."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from firmware_check import reference
from firmware_check.program import Array, Quantization, Step, Value
from firmware_check.quantized_constants import softmax_constants
from firmware_check.reading.forms import CODES
from firmware_check.reading.results import like, result_of
from firmware_check.reading.state import Workspace
from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.ground.types import Dims
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.decision import Cause, Decision
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.memory_order import channels_last
from onnxlint_cmsis.lower.pads import pad_amounts
from onnxlint_cmsis.lower.pooling import pooling_call
from onnxlint_cmsis.lower.softmax import softmax_axes
from onnxlint_cmsis.lower.stored_types import STORED
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from onnxlint_cmsis.model.graph import Node


def build_pool(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Average and max pooling, global or with a window."""
    node = record.node
    call = pooling_call(space.graph, node, Assumptions())
    if isinstance(call, Decision):
        raise Unsupported(call.reason)
    source = space.known(node.inputs[0])
    source = space.ordered(node, source, channels_last(len(source.shape)))
    result = result_of(space, record)
    rescale = quantize_multiplier(source.quantization.scale / result.quantization.scale)
    whole = record.cause is Cause.ATTRIBUTE
    step = Step(
        node.label, node.op_type, CODES[call.function], (source,), like(space, node, result), call, "", (),
        {"limits": result.limits, "rescale": rescale, "whole": whole}, reason,
    )  # fmt: skip
    space.add(step)


def build_softmax(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Softmax over rows: its axes are brought behind all others in memory."""
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    axes = softmax_axes(node, len(source.shape))
    order = (*(other for other in range(len(source.shape)) if other not in axes), *axes)
    source = space.ordered(node, source, order)
    result = result_of(space, record)
    row = prod(source.shape[axis] for axis in axes)
    constants, tables = _softmax(source.quantization)
    numbers = {"limits": result.limits, "rows": source.count // row, "row": row, "constants": constants}
    step = Step(
        node.label, node.op_type, "softmax", (source,), like(space, node, result, source), record.call, "", tables,
        numbers, reason,
    )  # fmt: skip
    space.add(step)


def _softmax(source: Quantization) -> tuple[object, tuple[Array, ...]]:
    """What the softmax of an input needs to know of its scale, and the tables of int16."""
    if source.bits == 8:
        return softmax_constants(source.scale), ()
    tables = {"exponentials": reference.exponentials(), "reciprocals": reference.reciprocals()}
    return reference.multiplier(source.scale), tuple(Array(name, "int16_t", table) for name, table in tables.items())


def build_concat(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Concatenation: one copying call for each input."""
    node = record.node
    values = [space.plain(node, space.known(name)) for name in node.inputs]
    result = result_of(space, record)
    order = values[0].order
    values = [space.ordered(node, value, order) for value in values]
    output = like(space, node, result, values[0])
    axis = node.int("axis") % len(output.shape)
    rank = order.index(axis)
    numbers = {
        "limits": result.limits, "outer": prod(output.shape[size_axis] for size_axis in order[:rank]),
        "rows": [value.shape[axis] for value in values],
        "inner": prod(output.shape[size_axis] for size_axis in order[rank + 1 :]), "total": output.shape[axis],
        "rescales": [quantize_multiplier(value.quantization.scale / result.quantization.scale) for value in values],
    }  # fmt: skip
    step = Step(node.label, node.op_type, "concat", tuple(values), output, record.call, "", (), numbers, reason)
    space.add(step)


def build_pad(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Constant padding that no layer behind it takes over; a change of scale becomes a separate layer."""
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    result = result_of(space, record)
    pads, rank = pad_amounts(space.graph, node), len(source.shape)
    output = like(space, node, result, source)
    missing = 4 - rank
    size, before, after = (
        [padding] * missing + [amounts[axis] for axis in source.order]
        for padding, amounts in ((1, source.shape), (0, pads[:rank]), (0, pads[rank:]))
    )
    fill = _fill(space, node, source.quantization)
    numbers = {"limits": result.limits, "size": size, "before": before, "after": after, "fill": fill}
    if record.cause is not Cause.UNEQUAL_SCALES:
        whole = Dims(*(sum(amounts) for amounts in zip(before, size, after, strict=True)))
        call = record.call and record.call._replace(input_dims=Dims(*size), output_dims=whole, pad_front=Dims(*before))
        space.add(Step(node.label, node.op_type, "pad", (source,), output, call, "", (), numbers, reason))
        return
    padded = space.new(node.outputs[0], output.shape, source.order, source.quantization)
    label = f"{node.label}:pad"
    space.add(Step(label, node.op_type, "pad", (source,), padded, None, "", (), numbers, reason))
    build_rescaled(space, node, padded, record, reason)


def _fill(space: Workspace, node: Node, quantization: Quantization) -> int:
    """The integer that the device pads with; between integers the file gives that itself, 128 more where unsigned."""
    number = float(space.stored.real(node.inputs[2]).reshape(-1)[0]) if node.inputs[2] else 0.0
    if space.graph.elem_type(node.inputs[0]) in STORED:
        return int(number) - (128 if quantization.unsigned else 0)
    return quantization.integer(number)


def build_requantize(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Relu or Clip between quantized tensors, or QuantizeLinear: a change of scale, perhaps with bounds."""
    build_rescaled(space, record.node, space.known(record.node.inputs[0]), record, reason)


def build_moved(space: Workspace, record: LoweredLayer) -> None:
    """The QuantizeLinear that ends a Transpose: the same memory, but for another scale or bounds."""
    moved, result = space.known(record.node.outputs[0]), result_of(space, record)
    same = moved.quantization
    if (result.quantization, result.limits) != (same, (same.lowest, same.highest)):
        build_rescaled(space, record.node, moved, record, record.reason)
    else:
        space.integers[result.tensor] = replace(moved, tensor=result.tensor, real=False)


def build_rescaled(space: Workspace, node: Node, source: Value, record: LoweredLayer, reason: str) -> None:
    """A layer that changes scale and zero-point of a value, and clamps."""
    result = result_of(space, record)
    output = space.beside(source, result.tensor, result.quantization)
    rescale = quantize_multiplier(source.quantization.scale / result.quantization.scale)
    numbers = {"limits": result.limits, "rescale": rescale}
    space.add(
        Step(
            node.label, node.op_type, "requantize", (source,), output, numbers=numbers, reason=reason, in_place=True
        )
    )  # fmt: skip
