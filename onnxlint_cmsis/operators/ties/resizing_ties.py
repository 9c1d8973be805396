"""Tie rules of operators that repeat, stretch or move elements between axes."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, Element, NotFollowedError, Number
from onnxlint_cmsis.algebra.variables import Dimension, find
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.shaping_ties import normalised
from onnxlint_cmsis.types import Size

CHANNEL_MOVING = ("tf_crop_and_resize", "tf_half_pixel_for_nn")
"""Coordinate modes of Resize that may shift elements even along an axis of scale 1."""


def expand(_node: Node, context: Context) -> None:
    """Broadcast against a target shape."""
    axes, target = context.need(0), context.values(1)
    if target is None:
        raise NotFollowedError("the target shape is computed at run time")
    rank = max(len(axes), len(target))
    padded: list[Dimension | None] = [*[None] * (rank - len(axes)), *axes]
    wanted: list[Element] = [*[Number(1, "", 0)] * (rank - len(target)), *target]
    made = [_expanded(context, axis, element) for axis, element in zip(padded, wanted, strict=True)]
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)
    for position in range(len(target)):
        if isinstance(target[position], Number) and context.size(made[rank - len(target) + position]) != 1:
            context.name_input(1, position, [made[rank - len(target) + position]])


def _expanded(context: Context, axis: Dimension | None, element: Element) -> Dimension:
    if isinstance(element, Dimension):
        return _spread(context, axis, element)
    if element is None:
        return _spread(context, axis, context.fixed(None, "this part of the target shape is computed at run time"))
    if element.value == 1 or (axis is not None and context.size(axis) == element.value):
        return axis if axis is not None else context.fixed(1, "an inserted axis of size 1")
    return _spread(context, axis, Dimension(element.value))


def _spread(context: Context, axis: Dimension | None, wanted: Dimension) -> Dimension:
    if axis is None or find(axis) is find(wanted):
        return wanted
    if context.size(axis) not in (1, None) and context.size(axis) == context.size(wanted):
        context.tie(axis, wanted)
        return wanted
    context.pin(axis, "an axis is repeated by Expand")
    if context.size(axis) != 1:
        context.pin(wanted, "Expand of an axis of symbolic size")
    return wanted


def tile(_node: Node, context: Context) -> None:
    """The axis of the result runs over the repeats, then over the input's axis."""
    axes, repeats = context.need(0), context.ints(1)
    if repeats is None or len(repeats) != len(axes):
        raise NotFollowedError("the repeats are computed at run time")
    made = [
        axis if count == 1 else context.product((context.fixed(count, "repeats of Tile"), axis))
        for axis, count in zip(axes, repeats, strict=True)
    ]
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)


def resize(node: Node, context: Context) -> None:
    """Axes that keep their size keep their elements; the others are locked and computed anew."""
    axes = context.need(0)
    modern = node.op_type == "Resize" and node.opset >= 11
    scales = _scales(context, 2 if modern else 1)
    sizes = context.values(3) if modern and context.has(3) else None
    chosen = tuple(normalised(axis, len(axes)) for axis in node.ints("axes", tuple(range(len(axes)))))
    if len(scales or sizes or ()) != len(chosen):
        raise NotFollowedError("scales or sizes are computed at run time")
    if node.text("coordinate_transformation_mode") in CHANNEL_MOVING or "keep_aspect_ratio_policy" in node.attributes:
        raise NotFollowedError("a coordinate mode or aspect policy that may move elements along any axis")
    made = list(axes)
    for place, axis in enumerate(chosen):
        if scales:
            made[axis] = _scaled(context, axes[axis], scales[place])
        elif sizes:
            made[axis] = _sized(context, axes[axis], sizes[place], place)
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)


def _scales(context: Context, position: int) -> tuple[float, ...] | None:
    """Scales from the input, or from the attribute of Upsample before opset 9; None where there are none."""
    attribute = context.node.attributes.get("scales")
    if isinstance(attribute, tuple):
        return tuple(float(value) for value in attribute)
    constant = context.graph.constants.get(context.node.inputs[position]) if context.has(position) else None
    return (constant.values() or None) if constant is not None else None


def _scaled(context: Context, axis: Dimension, scale: float) -> Dimension:
    if scale == 1:
        return axis
    context.pin(axis, f"scaled by {context.node.op_type}")
    return context.fixed(None, f"scaled by {context.node.op_type}")


def _sized(context: Context, axis: Dimension, element: Element, place: int) -> Dimension:
    if isinstance(element, Dimension) and find(element) is find(axis):
        return axis
    if isinstance(element, Number) and element.value == context.size(axis):
        context.name_input(3, place, [axis])
        return axis
    context.pin(axis, "scaled by Resize")
    if isinstance(element, Dimension):
        context.pin(element, "scaled by Resize")
        return element
    return context.fixed(element.value if isinstance(element, Number) else None, "scaled by Resize")


def depth_to_space(node: Node, context: Context) -> None:
    """Channels are [b, b, C'] (DCR) or [C', b, b] (CRD); the blocks move into the plane."""
    axes, blocks = _blocks(node, context)
    inner = Dimension(_divided(context, axes[1], node.int("blocksize")))
    crd = node.text("mode", "DCR") == "CRD"
    context.tie(axes[1], context.product((inner, *blocks) if crd else (*blocks, inner)))
    _new_plane(node, context, axes, inner)


def space_to_depth(node: Node, context: Context) -> None:
    """Channels of the result are [b, b, C]."""
    axes, blocks = _blocks(node, context)
    _new_plane(node, context, axes, context.product((*blocks, axes[1])))


def _blocks(node: Node, context: Context) -> tuple[Axes, list[Dimension]]:
    axes, block = context.need(0), node.int("blocksize")
    if len(axes) != 4 or block < 1:
        raise NotFollowedError(f"rank {len(axes)} and block size {block} where 4 and at least 1 are allowed")
    return axes, [context.fixed(block, f"block size of {node.op_type}") for _ in range(2)]


def _divided(context: Context, axis: Dimension, block: int) -> Size:
    total = context.size(axis)
    if total is not None and total % (block * block):
        raise NotFollowedError(f"{total} channels are not a multiple of {block * block}")
    return None if total is None else total // (block * block)


def _new_plane(node: Node, context: Context, axes: Axes, channels: Dimension) -> None:
    reason = f"{node.op_type} moves blocks along this axis"
    result = context.output(0, [context.size(axes[0]), context.size(channels), None, None])
    context.tie_all(result, (axes[0], channels))
    context.pin_all((*axes[2:], *result[2:]), reason)
