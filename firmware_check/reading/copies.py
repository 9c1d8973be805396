"""Layers that only copy elements: a slice, nearest-neighbour enlargement, an operand made larger."""

from __future__ import annotations

from dataclasses import replace

from firmware_check.program import Value
from firmware_check.reading.results import result_of
from firmware_check.reading.state import Workspace, copy_step
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.memory_order import Places, strides_of
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.operators.resizing import EXPAND
from onnxlint_cmsis.operators.slicing import SLICE


def expanded(space: Workspace, node: Node, value: Value, shape: tuple[int, ...], order: tuple[int, ...]) -> Value:
    """The value repeated along its axes of size 1, and along new ones in front, up to a shape, in a memory order."""
    missing = len(shape) - len(value.shape)
    strides = {axis + missing: stride for axis, stride in strides_of(value).items() if value.shape[axis] != 1}
    output = space.new(value.tensor, shape, order, value.quantization)
    places = [(shape[axis], strides.get(axis, 0)) for axis in order]
    reason = "CMSIS-NN's element-wise functions take operands of one shape"
    space.steps.append(copy_step((f"{node.label}:expand", EXPAND.name, reason), value, output, places))
    return replace(output, real=value.real)


def build_copy(space: Workspace, record: LoweredLayer, reason: str) -> None:
    """Slice, Resize and Upsample: output of the scale and range of what is copied."""
    node = record.node
    source = space.plain(node, space.known(node.inputs[0]))
    places, offset = _slice(space, node, source) if operator_of(node) is SLICE else (_repeated(space, node, source), 0)
    result = result_of(space, record)
    output = space.new(result.tensor, space.shape(node.outputs[0]), source.order, source.quantization)
    space.keep(copy_step((node.label, node.op_type, reason), source, output, places, offset))


def _slice(space: Workspace, node: Node, source: Value) -> tuple[Places, int]:
    """The loops of a Slice and its first element."""
    strides = strides_of(source)
    ranges = _ranges(space, node, source.shape)
    places = [(len(ranges[axis]), strides[axis] * ranges[axis].step) for axis in source.order]
    return places, sum(ranges[axis].start * strides[axis] for axis in source.order if len(ranges[axis]))


def _repeated(space: Workspace, node: Node, source: Value) -> Places:
    """The loops that repeat each element a whole number of times."""
    shape = space.shape(node.outputs[0])
    strides = strides_of(source)
    places: Places = []
    for axis in source.order:
        times = shape[axis] // source.shape[axis]
        places += [(source.shape[axis], strides[axis]), *([(times, 0)] if times > 1 else [])]
    return places


def _ranges(space: Workspace, node: Node, shape: tuple[int, ...]) -> list[range]:
    """The indices that a Slice takes of each axis."""
    lists = [
        node.ints(name) or _ints(space, node, position) for position, name in enumerate(("starts", "ends"), start=1)
    ]
    axes = node.ints("axes") or _ints(space, node, 3) or tuple(range(len(lists[0])))
    steps = _ints(space, node, 4) or (1,) * len(lists[0])
    ranges = [range(size) for size in shape]
    for start, end, axis, step in zip(*lists, axes, steps, strict=True):
        ranges[axis] = range(*slice(start, end, step).indices(shape[axis]))
    return ranges


def _ints(space: Workspace, node: Node, position: int) -> tuple[int, ...]:
    if not node.has(position):
        return ()
    return tuple(int(number) for number in space.stored.array(node.inputs[position]).reshape(-1))
