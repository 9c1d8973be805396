"""Tie rules that many families share: elementwise, reshaped, and sizes that nodes compute."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Axes, Context, Element, NotFollowedError, Number
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.variables import ONE, Dimension, find

# Tie rules of element-wise operators: one input, or several with broadcasting.
#
# `dims.new_lanes` decides where new lanes would become NaN or infinite.


def unary(node: Node, context: Context) -> None:
    """Tie every output to the input."""
    axes = context.need(0)
    for position in range(len(node.outputs)):
        context.output_as(position, axes)


def per_channel(context: Context, position: int, channels: Dimension) -> None:
    """An input that holds one number per channel, or a single one for all."""
    axes = context.input(position)
    if axes is None or not axes:
        return
    if len(axes) != 1:
        raise NotFollowedError(f"input {context.node.inputs[position]} has rank {len(axes)} where 0 or 1 is allowed")
    if context.size(axes[0]) != 1 or context.size(channels) == 1:
        context.tie(axes[0], channels)


def broadcast(node: Node, context: Context) -> None:
    """Broadcast all inputs against each other, from the last axis backwards."""
    broadcast_inputs(context, range(len(node.inputs)))


def broadcast_inputs(context: Context, positions: Sequence[int]) -> None:
    """Tie the axes of these inputs and of the first output the way ONNX broadcasts them."""
    if "broadcast" in context.node.attributes:
        raise NotFollowedError("broadcasting by attribute, as before opset 7, is not followed")
    present = [position for position in positions if context.has(position)]
    if not present:
        raise NotFollowedError("it has no inputs")
    operands = [context.need(position) for position in present]
    tied = [
        axes for position, axes in zip(present, operands, strict=True) if not context.is_scalar(position)
    ] or operands
    rank = max(len(axes) for axes in operands)
    columns = [[axes[depth - rank] for axes in tied if rank - depth <= len(axes)] for depth in range(rank)]
    merged = [broadcast_axis(context, column) for column in columns]
    context.output_as(0, merged)


def broadcast_axis(context: Context, column: Sequence[Dimension]) -> Dimension:
    """One axis of the result: tie equal sizes, lock an axis of 1 that is repeated."""
    if not column:
        return context.fixed(1, "an axis of size 1 that only scalars have")
    wide = [axis for axis in column if context.size(axis) not in (1, None)]
    unknown = [axis for axis in column if context.size(axis) is None]
    ones = [axis for axis in column if context.size(axis) == 1]
    if unknown and (wide or len({find(axis) for axis in unknown}) > 1):
        context.pin_all(column, "broadcast against an axis of symbolic size")
        return wide[0] if wide else context.fixed(None, "broadcast of axes of symbolic size")
    kept = wide or unknown or ones
    for axis in kept[1:]:
        context.tie(kept[0], axis)
    if kept is not ones:
        context.pin_all(ones, "an axis of size 1 is repeated along the other input's")
    return kept[0]


# Rules for sizes as data: how operators carry a list of sizes.


Sizes = tuple[Element, ...]


def same_sizes(_node: Node, context: Context) -> Sizes | None:
    """The list as it is."""
    return context.values(0)


def gathered_sizes(_node: Node, context: Context) -> Sizes | None:
    """The sizes that constant indices pick."""
    data, indices = context.values(0), context.ints(1)
    if data is None or indices is None or any(not -len(data) <= index < len(data) for index in indices):
        return None
    return tuple(data[index] for index in indices)


def joined_sizes(node: Node, context: Context) -> Sizes | None:
    """Several lists, one after the other."""
    parts = [context.values(position) for position in range(len(node.inputs))]
    return None if None in parts else tuple(element for part in parts for element in part or ())


def sliced_sizes(_node: Node, context: Context) -> Sizes | None:
    """A piece of the list between constant limits."""
    data = context.values(0)
    starts, ends = context.stated("starts"), context.stated("ends")
    steps = context.ints(4) if context.has(4) else (1,)
    if data is None or not starts or not ends or not steps:
        return None
    return data[starts[0] : ends[0] : steps[0]]


def multiplied_sizes(_node: Node, context: Context) -> Sizes | None:
    """Two sizes multiplied are the size of their grid."""
    first, second = context.values(0), context.values(1)
    if first is None or second is None or len(first) != 1 or len(second) != 1:
        return None
    if not isinstance(first[0], Dimension) or not isinstance(second[0], Dimension):
        return None
    return (context.product((first[0], second[0])),)


def strided_sizes(node: Node, context: Context) -> Sizes | None:
    """TFLite's slice of a list between constant limits, or one element of it."""
    data, starts, ends = context.values(0), context.ints(1), context.ints(2)
    if data is None or starts is None or ends is None or context.ints(3) != (1,) or len(starts) != 1:
        return None
    if node.int("shrink_axis_mask") & 1:
        return data[starts[0] : starts[0] + 1 or None]
    first = None if node.int("begin_mask") & 1 else starts[0]
    return data[first : None if node.int("end_mask") & 1 else ends[0]]


# Tie rules of operators that regroup or reorder axes and leave the elements alone.


def reshape(node: Node, context: Context) -> None:
    """Axes in and out are two grids over the same elements; a number of the target names an axis of the result."""
    axes, target = context.need(0), context.values(1)
    if target is None:
        result = context.axes_of(node.outputs[0]) or ()
        context.pin_all((*axes, *result), "the target shape is computed at run time")
        return
    if not node.int("allowzero"):
        zeros = [isinstance(element, Number) and element.value == 0 for element in target]
        target = tuple(
            axes[position] if zeros[position] and position < len(axes) else element
            for position, element in enumerate(target)
        )
    result = context.output(0, _target_sizes(context, axes, target))
    for position, element in enumerate(target):
        if isinstance(element, Dimension):
            context.tie(result[position], element)
        elif element is None:
            context.pin(result[position], "this part of the target shape is computed at run time")
        elif element.value >= 0:
            context.name_input(1, position, [result[position]])
    regroup(context, axes, result)


def _target_sizes(context: Context, axes: Axes, target: tuple[Element, ...]) -> list[Size]:
    """Sizes of the result as far as target and input determine them; -1 is the quotient of the rest."""
    sizes: list[Size] = []
    for element in target:
        if isinstance(element, Dimension):
            sizes.append(context.size(element))
        else:
            sizes.append(element.value if element is not None and element.value >= 0 else None)
    known = prod([size for size in sizes if size is not None])
    total = [context.size(axis) for axis in axes]
    if sizes.count(None) == 1 and None not in total and known:
        sizes[sizes.index(None)] = prod([size for size in total if size is not None]) // known
    return sizes


def regroup(context: Context, axes: Axes, result: Axes) -> None:
    """Make two lists of axes, outermost first, the same grid."""
    first, second = list(axes), list(result)
    while first and second and _same(context, first[0], second[0]):
        context.tie(first.pop(0), second.pop(0))
    if first and second:
        context.tie(context.product(first), context.product(second))
    else:
        context.pin_all(first or second, ONE)


def _same(context: Context, first: Dimension, second: Dimension) -> bool:
    return find(first) is find(second) or context.size(first) == context.size(second) is not None


def flatten(node: Node, context: Context) -> None:
    """Two axes: everything before `axis`, and everything from it on."""
    axes = context.need(0)
    axis = normalised(node.int("axis", 1), len(axes), inclusive=True)
    context.output_as(0, [context.product(axes[:axis]), context.product(axes[axis:])])


def normalised(axis: int, rank: int, *, inclusive: bool = False) -> int:
    """Axis counted from the front. Raises NotFollowedError outside the rank."""
    limit = rank + 1 if inclusive else rank
    if not -rank <= axis < limit:
        raise NotFollowedError(f"axis {axis} is outside rank {rank}")
    return axis + rank if axis < 0 else axis


def transpose(_node: Node, context: Context) -> None:
    """Axes in the order of `perm`."""
    axes = context.need(0)
    order = context.stated("perm", tuple(range(len(axes) - 1, -1, -1)))
    if order is None:
        raise NotFollowedError("the order of the axes is computed at run time")
    if sorted(order) != [*range(len(axes))]:
        raise NotFollowedError(f"perm {list(order)} is not an order of {len(axes)} axes")
    moved = tuple(axes[axis] for axis in order)
    context.output_as(0, moved)


def squeeze(_node: Node, context: Context) -> None:
    """Remove axes of size 1, and lock them at that size."""
    axes = context.need(0)
    listed = context.stated("axes", ())
    if listed is None:
        raise NotFollowedError("the axes to squeeze are computed at run time")
    gone = {normalised(axis, len(axes)) for axis in listed}
    if not listed:
        if any(context.size(axis) is None for axis in axes):
            raise NotFollowedError("which axes are squeezed depends on a symbolic size")
        gone = {position for position, axis in enumerate(axes) if context.size(axis) == 1}
    context.pin_all((axes[position] for position in sorted(gone)), "a squeezed axis has to stay 1")
    kept = [axis for position, axis in enumerate(axes) if position not in gone]
    context.output_as(0, kept)


def unsqueeze(_node: Node, context: Context) -> None:
    """New axes of size 1."""
    axes = context.need(0)
    listed = context.stated("axes")
    if listed is None:
        raise NotFollowedError("the axes to insert are computed at run time")
    rank = len(axes) + len(listed)
    new = {normalised(axis, rank) for axis in listed}
    if len(new) != len(listed):
        raise NotFollowedError(f"axes {list(listed)} name one axis twice")
    rest = iter(axes)
    widened = [context.fixed(1, "an inserted axis of size 1") if axis in new else next(rest) for axis in range(rank)]
    context.output_as(0, widened)
