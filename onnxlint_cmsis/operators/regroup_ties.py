"""How operators tie axes that they regroup or put into another order, and leave the elements alone."""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Context, Element, Number
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.model.unification import ONE
from onnxlint_cmsis.model.variables import Dimension, find


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
