"""Tie rules of TensorFlow Lite's operators that give the same elements other axes, or make an axis of tensors."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError, Number
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.shaping_ties import normalised, regroup

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
        for place, size in enumerate(stated):
            if size >= 0:
                context.name_attribute("new_shape", place, [result[place]])
    regroup(context, axes, result)


def _named_by_input(context: Context, result: Axes) -> None:
    """Elements of the target that name sizes: fixed numbers, or sizes of other tensors."""
    target = context.values(1)
    if target is None or len(target) != len(result):
        context.pin_all(result, RUN_TIME_SHAPE)
        return
    for place, element in enumerate(target):
        if isinstance(element, Dimension):
            context.tie(result[place], element)
        elif element is None:
            context.pin(result[place], "this part of the target shape is computed at run time")
        elif isinstance(element, Number) and element.value >= 0:
            context.name_input(1, place, [result[place]])


def squeeze(node: Node, context: Context) -> None:
    """Remove the listed axes, or all of size 1."""
    axes = context.need(0)
    listed = node.ints("squeeze_dims")
    gone = {normalised(axis, len(axes)) for axis in listed}
    if not listed:
        gone = {place for place, axis in enumerate(axes) if context.size(axis) == 1}
    context.pin_all((axes[place] for place in sorted(gone)), "a squeezed axis has to stay 1")
    made_of(context, [axis for place, axis in enumerate(axes) if place not in gone])


def expand_dims(_node: Node, context: Context) -> None:
    """One new axis of size 1."""
    axes, place = context.need(0), context.ints(1)
    if place is None or len(place) != 1:
        raise NotFollowedError("the axis to insert is computed at run time")
    made = list(axes)
    made.insert(normalised(place[0], len(axes) + 1), context.fixed(1, "an inserted axis of size 1"))
    made_of(context, made)


def transpose(_node: Node, context: Context) -> None:
    """Axes in the order of input 1."""
    axes, order = context.need(0), context.ints(1)
    if order is None or sorted(order) != list(range(len(axes))):
        raise NotFollowedError(f"the order {order} of {len(axes)} axes")
    made_of(context, [axes[axis] for axis in order])


def pack(node: Node, context: Context) -> None:
    """Tensors of one shape along a new axis."""
    operands = [context.need(place) for place in range(len(node.inputs)) if context.has(place)]
    if not operands or len({len(axes) for axes in operands}) != 1:
        raise NotFollowedError("the inputs differ in rank")
    for axes in operands[1:]:
        context.tie_all(axes, operands[0])
    made = list(operands[0])
    count = context.fixed(len(operands), "PACK counts its inputs along this axis")
    made.insert(normalised(node.int("axis"), len(made) + 1), count)
    made_of(context, made)


def unpack(node: Node, context: Context) -> None:
    """Tensors of one shape, taken from the places along an axis."""
    axes = context.need(0)
    axis = normalised(node.int("axis"), len(axes))
    context.pin(axes[axis], "UNPACK counts its outputs along this axis")
    rest = [one for place, one in enumerate(axes) if place != axis]
    for position in range(len(node.outputs)):
        context.tie_all(context.output(position, [context.size(one) for one in rest]), rest)


def made_of(context: Context, made: list[Dimension]) -> None:
    """The first output has these axes."""
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)
