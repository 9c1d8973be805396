"""How TensorFlow Lite's operators tie axes that they reshape, join, take pieces of or grow."""

from __future__ import annotations

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Context, Number
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators.regroup_ties import normalised, regroup
from onnxlint_cmsis.operators.slicing import TO_THE_END, Limits, cut, others, slice_axis

RUN_TIME_SHAPE = "the target shape is computed at run time"


def reshape(node: Node, context: Context) -> None:
    """Two grids over the same elements; input 1 and the option `new_shape` name the result's sizes."""
    axes, result = context.need(0), context.axes_of(node.outputs[0])
    if result is None:
        raise NotFollowedError("the rank of the result is not known")
    if context.has(1):
        _named_by_input(context, result)
    stated = node.ints("new_shape")
    if len(stated) == len(result):
        for position, size in enumerate(stated):
            if size >= 0:
                context.name_attribute("new_shape", position, [result[position]])
    regroup(context, axes, result)


def _named_by_input(context: Context, result: Axes) -> None:
    """Elements of the target that name sizes: fixed numbers, or sizes of other tensors."""
    target = context.values(1)
    if target is None or len(target) != len(result):
        context.pin_all(result, RUN_TIME_SHAPE)
        return
    for position, element in enumerate(target):
        if isinstance(element, Dimension):
            context.tie(result[position], element)
        elif element is None:
            context.pin(result[position], "this part of the target shape is computed at run time")
        elif isinstance(element, Number) and element.value >= 0:
            context.name_input(1, position, [result[position]])


def pack(node: Node, context: Context) -> None:
    """Tensors of one shape along a new axis."""
    operands = [context.need(position) for position in range(len(node.inputs)) if context.has(position)]
    if not operands or len({len(axes) for axes in operands}) != 1:
        raise NotFollowedError("the inputs differ in rank")
    for axes in operands[1:]:
        context.tie_all(axes, operands[0])
    result = list(operands[0])
    count = context.fixed(len(operands), "PACK counts its inputs along this axis")
    result.insert(normalised(node.int("axis"), len(result) + 1), count)
    context.output_as(0, result)


def unpack(node: Node, context: Context) -> None:
    """Tensors of one shape, taken from the places along an axis."""
    axes = context.need(0)
    axis = normalised(node.int("axis"), len(axes))
    context.pin(axes[axis], "UNPACK counts its outputs along this axis")
    for position in range(len(node.outputs)):
        context.output_as(position, others(axes, axis))


def counted_slice(_node: Node, context: Context) -> None:
    """SLICE: so many elements (input 2, -1 for all that are left) from a place on (input 1), along every axis."""
    axes, starts, counts = context.need(0), context.ints(1), context.ints(2)
    if starts is None or counts is None or not len(starts) == len(counts) == len(axes):
        raise NotFollowedError("where to slice is computed at run time")
    pieces = [_taken(context, axis, element, starts[element], counts[element]) for element, axis in enumerate(axes)]
    context.output_as(0, pieces)


def _taken(context: Context, axis: Dimension, element: int, start: int, count: int) -> Dimension:
    size = context.size(axis)
    end = size if count == -1 else start + count
    if size is None or end is None or not 0 <= start < end <= size:
        raise NotFollowedError(f"a slice of {count} elements from {start} on, out of {size}")
    before, taken, _after = cut(context, axis, start, end)
    if start:
        context.name_input(1, element, before)
    if count != -1:
        context.name_input(2, element, taken)
    return taken[0]


def strided_slice(node: Node, context: Context) -> None:
    """STRIDED_SLICE: begin, end and step of every axis; masks say which of them count."""
    axes = context.need(0)
    starts, ends, steps = context.ints(1), context.ints(2), context.ints(3)
    if starts is None or ends is None or steps is None or not len(starts) == len(ends) == len(steps):
        raise NotFollowedError("where to slice is computed at run time")
    if node.int("ellipsis_mask") or node.int("new_axis_mask") or node.int("offset") or len(starts) > len(axes):
        raise NotFollowedError("a slice with an ellipsis, a new axis or limits that count from the start")
    result = []
    for element, axis in enumerate(axes):
        if element >= len(starts):
            result.append(axis)
        elif node.int("shrink_axis_mask") >> element & 1:
            context.pin(axis, "one element of this axis is taken")
        else:
            start = 0 if node.int("begin_mask") >> element & 1 else starts[element]
            end = TO_THE_END if node.int("end_mask") >> element & 1 else ends[element]
            result.append(slice_axis(context, axis, Limits(element, start, end, steps[element])))
    context.output_as(0, result)


def space_to_batch(_node: Node, context: Context) -> None:
    """SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND: batch and plane are laid out anew, channels stay."""
    axes, blocks = context.need(0), context.ints(1)
    if blocks is None or len(blocks) >= len(axes):
        raise NotFollowedError("the sizes of the blocks are computed at run time")
    moved = len(blocks) + 1
    reason = f"{context.node.op_type} moves blocks along this axis"
    sizes: list[Size] = [*[None] * moved, *(context.size(axis) for axis in axes[moved:])]
    result = context.output(0, sizes)
    context.tie_all(result[moved:], axes[moved:])
    context.pin_all((*axes[:moved], *result[:moved]), reason)


def reverse(_node: Node, context: Context) -> None:
    """REVERSE_V2: the axes that are turned round are locked."""
    axes, turned = context.need(0), context.ints(1)
    if turned is None:
        raise NotFollowedError("the axes to reverse are computed at run time")
    context.pin_all(
        (axes[normalised(axis, len(axes))] for axis in turned), "the elements along this axis change places"
    )
    context.output_as(0, axes)
