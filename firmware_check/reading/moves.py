"""Layers that only copy elements: a transposition, a slice, nearest-neighbour enlargement, an operand made larger."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from firmware_check.program import Step
from firmware_check.reading.forms import FORMS
from firmware_check.reading.sink import sink_of
from firmware_check.reading.unsupported import Unsupported

if TYPE_CHECKING:
    from firmware_check.program import Value
    from firmware_check.reading.read import Builder
    from onnxlint_cmsis.graph.model import Node

MOST_AXES = 8
"""Loops of the plain C."""

Places = list[tuple[int, int]]
"""For each loop from the outermost, how often it runs and how many elements it goes on in the source."""


def move_step(names: tuple[str, str, str], source: Value, output: Value, places: Places, offset: int = 0) -> Step:
    """A copy of elements as plain C; `names` are label, operator and reason, `offset` is the first element taken.

    Two bytes of an int16 element are a loop of their own, so that the copy knows bytes only.
    """
    label, op_type, reason = names
    width = source.quantization.bits // 8
    if width > 1:
        places = [*((size, stride * width) for size, stride in places), (width, 1)]
    if len(places) > MOST_AXES:
        raise Unsupported(f"it moves elements along {len(places)} axes; up to {MOST_AXES} are supported")
    numbers = {"places": places, "offset": offset * width}
    return Step(label, op_type, FORMS["move"].plain, (source,), output, numbers=numbers, reason=reason)


def strides_of(value: Value) -> dict[int, int]:
    """Elements from one index of each ONNX axis to the next."""
    sizes = [value.shape[axis] for axis in value.order]
    return {axis: prod(sizes[place + 1 :]) for place, axis in enumerate(value.order)}


def expanded(builder: Builder, node: Node, value: Value, shape: tuple[int, ...], order: tuple[int, ...]) -> Value:
    """The value repeated along its axes of size 1, and along new ones in front, up to a shape, in a memory order."""
    missing = len(shape) - len(value.shape)
    strides = {axis + missing: stride for axis, stride in strides_of(value).items() if value.shape[axis] != 1}
    output = builder.new(value.tensor, shape, order, value.quantization)
    places = [(shape[axis], strides.get(axis, 0)) for axis in order]
    reason = "CMSIS-NN's element-wise functions take operands of one shape"
    builder.steps.append(move_step((f"{node.label}:expand", "Expand", reason), value, output, places))
    return replace(output, real=value.real)


def build_slice(builder: Builder, node: Node) -> None:
    """Slice with fixed starts, ends and steps."""
    source = builder.plain(node, builder.known(node.inputs[0]))
    strides = strides_of(source)
    ranges = _ranges(builder, node, source.shape)
    places = [(len(ranges[axis]), strides[axis] * ranges[axis].step) for axis in source.order]
    offset = sum(ranges[axis].start * strides[axis] for axis in source.order if len(ranges[axis]))
    _copy(builder, node, source, places, offset)


def build_resize(builder: Builder, node: Node) -> None:
    """Resize and Upsample where each element is repeated a whole number of times."""
    source = builder.plain(node, builder.known(node.inputs[0]))
    shape = builder.shape(node.outputs[0])
    whole = all(new % old == 0 for new, old in zip(shape, source.shape, strict=True))
    if node.text("mode", "nearest") != "nearest" or not whole or not _scales_are(builder, node, source.shape, shape):
        raise Unsupported("only nearest neighbours and whole factors are supported")
    if not _repeats(node):
        raise Unsupported("its coordinates do not repeat each element equally often")
    strides = strides_of(source)
    places: Places = []
    for axis in source.order:
        times = shape[axis] // source.shape[axis]
        places += [(source.shape[axis], strides[axis]), *([(times, 0)] if times > 1 else [])]
    _copy(builder, node, source, places, 0)


def _scales_are(builder: Builder, node: Node, old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether factors that the node gives are those of the sizes: 2.4 makes 4 of 2, but not each element twice."""
    place = 1 if node.op_type == "Upsample" or node.opset < 11 else 2
    given = node.attributes.get("scales", ())
    if len(node.inputs) > place and node.inputs[place]:
        given = tuple(builder.constants.array(node.inputs[place]).reshape(-1).tolist())
    factors = tuple(new[axis] / old[axis] for axis in node.ints("axes") or range(len(old)))
    return given in ((), factors)


def _repeats(node: Node) -> bool:
    """Whether output i is input floor(i / factor) for every whole factor."""
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    rounding = node.text("nearest_mode", "round_prefer_floor")
    if node.op_type == "Upsample" or node.opset < 11 or (mode == "asymmetric" and rounding == "floor"):
        return True
    return mode in ("half_pixel", "pytorch_half_pixel") and rounding.startswith("round_prefer")


def _ranges(builder: Builder, node: Node, shape: tuple[int, ...]) -> list[range]:
    """The indices that a Slice takes of each axis."""
    lists = [node.ints(name) or _ints(builder, node, place) for place, name in enumerate(("starts", "ends"), start=1)]
    axes = node.ints("axes") or _ints(builder, node, 3) or tuple(range(len(lists[0])))
    steps = _ints(builder, node, 4) or (1,) * len(lists[0])
    found = [range(size) for size in shape]
    for start, end, axis, step in zip(*lists, axes, steps, strict=True):
        found[axis] = range(*slice(start, end, step).indices(shape[axis]))
    return found


def _ints(builder: Builder, node: Node, place: int) -> tuple[int, ...]:
    if len(node.inputs) <= place or not node.inputs[place]:
        return ()
    return tuple(int(each) for each in builder.constants.array(node.inputs[place]).reshape(-1))


def _copy(builder: Builder, node: Node, source: Value, places: Places, offset: int) -> None:
    """The layer of an ONNX node that keeps scale and range of what it copies."""
    sink = sink_of(builder, node)
    q = source.quantization
    if sink.quantization != q or sink.limits != (q.lowest, q.highest):
        raise Unsupported("its input and output have different scales or bounds")
    output = builder.new(sink.tensor, builder.shape(node.outputs[0]), source.order, q)
    names = node.label, node.op_type, "CMSIS-NN has no function for it"
    builder.steps.append(move_step(names, source, output, places, offset))
    builder.integers[output.tensor] = output
