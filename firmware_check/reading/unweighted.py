"""Pooling, softmax, concatenation, padding, activations."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from firmware_check import softmax_s16
from firmware_check.numbers import quantize_multiplier, softmax_constants
from firmware_check.program import Array, Step
from firmware_check.reading.constants import BITS
from firmware_check.reading.sink import clip_limits, like, sink_of
from firmware_check.reading.unsupported import Unsupported
from firmware_check.reading.views import channels_last
from onnxlint_cmsis.lower.assumptions import Assumptions
from onnxlint_cmsis.lower.pool import pooling_call
from onnxlint_cmsis.lower.verdict import Decision

if TYPE_CHECKING:
    from firmware_check.program import Quantization
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.types import KernelCall

_LARGEST_U16 = 0xFFFF
_SOFTMAX_OUTPUT = {8: (1 / 256, -128, "1/256 and -128"), 16: (softmax_s16.OUTPUT_SCALE, 0, "1/32768 and 0")}
"""Bits to the scale and the zero-point of the output of CMSIS-NN's softmax, and both in words."""


def build_pool(builder: Builder, node: Node) -> None:
    """Average and max pooling, global or with a window."""
    call = _pooling(builder, node)
    form = "avgpool" if call.entry.startswith("avgpool") else "max_pool"
    padded = any((call.padding.h, call.padding.w, call.pad_after.h, call.pad_after.w))
    whole = form == "avgpool" and bool(node.int("count_include_pad")) and padded
    if whole and node.int("ceil_mode"):
        raise Unsupported("it counts padding into the average and rounds its output's size up")
    source = builder.known(node.inputs[0])
    source = builder.ordered(node, source, channels_last(len(source.shape)))
    sink = sink_of(builder, node)
    reason = "" if equal(source.quantization, sink.quantization) else "its input and output have different scales"
    reason = "it counts padding into the average, CMSIS-NN does not" if whole else reason
    rescale = quantize_multiplier(source.quantization.scale / sink.quantization.scale)
    step = Step(
        node.label, node.op_type, form, (source,), like(builder, node, sink), call, "", (),
        {"limits": sink.limits, "rescale": rescale, "whole": whole}, reason,
    )  # fmt: skip
    builder.add(step)


def _pooling(builder: Builder, node: Node) -> KernelCall:
    """The call, or what it would be if the average did not count padding."""
    found = pooling_call(builder.graph, node, Assumptions())
    if isinstance(found, Decision):
        raise Unsupported(found.reason)
    return found


def build_softmax(builder: Builder, node: Node) -> None:
    """Softmax over the last axis in memory."""
    source = builder.plain(node, builder.known(node.inputs[0]))
    rank = len(source.shape)
    axis = node.int("axis", -1 if node.opset >= 13 else 1) % rank
    if node.opset < 13 and axis != rank - 1 and prod(source.shape[axis + 1 :]) != 1:
        raise Unsupported(f"its axis {axis} means several axes in opset {node.opset}")
    order = (*(each for each in range(rank) if each != axis), axis)
    source = builder.ordered(node, source, order)
    sink = sink_of(builder, node)
    q = sink.quantization
    scale, zero_point, words = _SOFTMAX_OUTPUT[q.bits]
    exact = abs(q.scale - scale) < 1e-6 * scale and q.zero_point == zero_point
    reason = "" if exact else f"its output has scale {q.scale:.6g} and zero-point {q.zero_point}, not {words}"
    row = source.shape[axis]
    constants, tables = _softmax(source.quantization)
    numbers = {"limits": sink.limits, "rows": source.count // row, "row": row, "constants": constants}
    layer = builder.layers.get(node.index)
    step = Step(
        node.label, node.op_type, "softmax", (source,), like(builder, node, sink, source),
        layer.call if layer else None, "", tables, numbers, reason,
    )  # fmt: skip
    builder.add(step)


def _softmax(source: Quantization) -> tuple[object, tuple[Array, ...]]:
    """What the softmax of an input needs to know of its scale, and the tables of int16."""
    if source.bits == 8:
        return softmax_constants(source.scale), ()
    tables = {"exponentials": softmax_s16.exponentials(), "reciprocals": softmax_s16.reciprocals()}
    return softmax_s16.multiplier(source.scale), tuple(Array(name, "int16_t", each) for name, each in tables.items())


def build_concat(builder: Builder, node: Node) -> None:
    """Concatenation: one copying call for each input."""
    values = [builder.plain(node, builder.known(name)) for name in node.inputs]
    sink = sink_of(builder, node)
    order = values[0].order
    values = [builder.ordered(node, value, order) for value in values]
    output = like(builder, node, sink, values[0])
    axis = node.int("axis") % len(output.shape)
    place = order.index(axis)
    outer = prod(output.shape[each] for each in order[:place])
    inner = prod(output.shape[each] for each in order[place + 1 :])
    reason = ""
    if not all(equal(value.quantization, sink.quantization) for value in values):
        reason = "its inputs and output have different scales"
    elif output.count // outer > _LARGEST_U16 or outer > _LARGEST_U16:
        reason = "arm_concatenation_s8_x counts in 16 bits"
    numbers = {
        "limits": sink.limits, "outer": outer, "rows": [value.shape[axis] for value in values], "inner": inner,
        "total": output.shape[axis],
        "rescales": [quantize_multiplier(value.quantization.scale / sink.quantization.scale) for value in values],
    }  # fmt: skip
    layer = builder.layers.get(node.index)
    step = Step(
        node.label, node.op_type, "concat", tuple(values), output, layer.call if layer else None, "", (), numbers,
        reason,
    )  # fmt: skip
    builder.add(step)


def build_pad(builder: Builder, node: Node) -> None:
    """Constant padding that no layer behind it takes over."""
    if any(node.label in layer.folded for layer in builder.layers.values()):
        return
    source = builder.plain(node, builder.known(node.inputs[0]))
    if node.text("mode", "constant") != "constant" or len(source.shape) > 4:
        raise Unsupported("only constant padding of up to four dimensions is supported")
    pads = node.ints("pads") or tuple(int(pad) for pad in builder.constants.array(node.inputs[1]).reshape(-1))
    rank = len(source.shape)
    if len(pads) != 2 * rank or min(pads) < 0:
        raise Unsupported(f"its pads are {pads}; one before and one after each axis, none negative, are supported")
    sink = sink_of(builder, node)
    if not equal(source.quantization, sink.quantization):
        raise Unsupported("its input and output have different scales")
    output = like(builder, node, sink, source)
    missing = 4 - rank
    numbers = {
        "limits": sink.limits,
        "size": [1] * missing + [source.shape[axis] for axis in source.order],
        "before": [0] * missing + [pads[axis] for axis in source.order],
        "after": [0] * missing + [pads[axis + rank] for axis in source.order],
        "fill": _fill(builder, node, sink.quantization),
    }
    builder.add(Step(node.label, node.op_type, "pad", (source,), output, None, "", (), numbers))


def _fill(builder: Builder, node: Node, quantization: Quantization) -> int:
    """The integer that the device pads with; between integers the file gives that itself, 128 more where unsigned."""
    given = len(node.inputs) > 2 and node.inputs[2]
    number = float(builder.constants.real(node.inputs[2]).reshape(-1)[0]) if given else 0.0
    if builder.graph.elem_type(node.inputs[0]) in BITS:
        return int(number) - (128 if quantization.unsigned else 0)
    return quantization.integer(number)


def build_activation(builder: Builder, node: Node) -> None:
    """Relu or Clip between quantized tensors: a change of scale with bounds."""
    source = builder.known(node.inputs[0])
    low, high = clip_limits(builder, node)
    sink = sink_of(builder, node)
    q = sink.quantization
    limits = max(sink.limits[0], q.integer(low)), min(sink.limits[1], q.integer(high))
    builder.requantize(node, source, sink.tensor, q, limits)


def equal(one: Quantization, other: Quantization) -> bool:
    """Whether integers mean the same in both, to TensorFlow Lite Micro's tolerance for pooling."""
    return one.zero_point == other.zero_point and abs(one.scale - other.scale) <= 1e-6 * max(one.scale, other.scale)
