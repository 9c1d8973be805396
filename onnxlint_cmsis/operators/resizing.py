"""Operators that repeat, stretch or move elements between axes: how they tie axes, and their records."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context, Element, Number
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.model.variables import Dimension, find
from onnxlint_cmsis.operators.answers import Elements, Layout, Risk
from onnxlint_cmsis.operators.convolution import new_plane
from onnxlint_cmsis.operators.demands import elementwise_demand, resize_demand
from onnxlint_cmsis.operators.joined_values import expand_values
from onnxlint_cmsis.operators.moves import Movement, move_depth_to_space, move_space_to_depth
from onnxlint_cmsis.operators.new_lane import AS_READ, ZEROS
from onnxlint_cmsis.operators.record import Operator, TieRule, replace
from onnxlint_cmsis.operators.regroup_ties import normalised
from onnxlint_cmsis.operators.summaries import resize_values, tile_values
from onnxlint_cmsis.operators.views import ValueRule

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
    result = [_expanded(context, axis, element) for axis, element in zip(padded, wanted, strict=True)]
    context.output_as(0, result)
    for position in range(len(target)):
        if isinstance(target[position], Number) and context.size(result[rank - len(target) + position]) != 1:
            context.name_input(1, position, [result[rank - len(target) + position]])


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
    result = [
        axis if count == 1 else context.product((context.fixed(count, "repeats of Tile"), axis))
        for axis, count in zip(axes, repeats, strict=True)
    ]
    context.output_as(0, result)


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
    result = list(axes)
    for element, axis in enumerate(chosen):
        if scales:
            result[axis] = _scaled(context, axes[axis], scales[element])
        elif sizes:
            result[axis] = _sized(context, axes[axis], sizes[element], element)
    context.output_as(0, result)


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


def _sized(context: Context, axis: Dimension, element: Element, position: int) -> Dimension:
    if isinstance(element, Dimension) and find(element) is find(axis):
        return axis
    if isinstance(element, Number) and element.value == context.size(axis):
        context.name_input(3, position, [axis])
        return axis
    context.pin(axis, "scaled by Resize")
    if isinstance(element, Dimension):
        context.pin(element, "scaled by Resize")
        return element
    return context.fixed(element.value if isinstance(element, Number) else None, "scaled by Resize")


def depth_to_space(node: Node, context: Context) -> None:
    """Channels are [b, b, C'] (DCR) or [C', b, b] (CRD); the blocks move into the plane."""
    axes, blocks = _blocks(node, context)
    channels = axes[context.roles.channels(len(axes))]
    total, block = context.size(channels), context.roles.number(node, "blocksize")
    if total is not None and total % (block * block):
        raise NotFollowedError(f"{total} channels are not a multiple of {block * block}")
    inner = Dimension(None if total is None else total // (block * block))
    crd = node.text("mode", "DCR") == "CRD"
    context.tie(channels, context.product((inner, *blocks) if crd else (*blocks, inner)))
    new_plane(context, axes, inner, "moves blocks along this axis")


def space_to_depth(node: Node, context: Context) -> None:
    """Channels of the result are [b, b, C]."""
    axes, blocks = _blocks(node, context)
    packed = context.product((*blocks, axes[context.roles.channels(len(axes))]))
    new_plane(context, axes, packed, "moves blocks along this axis")


def _blocks(node: Node, context: Context) -> tuple[Axes, list[Dimension]]:
    axes, block = context.need(0), context.roles.number(node, "blocksize")
    if len(axes) != 4 or block < 1:
        raise NotFollowedError(f"rank {len(axes)} and block size {block} where 4 and at least 1 are allowed")
    return axes, [context.fixed(block, f"block size of {node.op_type}") for _ in range(2)]


def _block_mover(name: str, axes: TieRule, movement: Movement) -> Operator:
    return Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.IMAGE, new_lane=AS_READ, zero=(0,), movement=movement)


def _repeating(name: str, axes: TieRule, values: ValueRule, roles: Roles | None = None) -> Operator:
    operator = Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, new_lane=AS_READ)
    return replace(operator, roles=roles or Roles(), zero=(0,), values=values)


def _resizing(name: str, roles: Roles | None = None) -> Operator:
    operator = Operator(name, resize, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, new_lane=ZEROS)
    return replace(operator, roles=roles or Roles(), values=resize_values, demand=resize_demand)


EXPAND = replace(_repeating("Expand", expand, expand_values, Roles(sizes=(1,))), demand=elementwise_demand)

RESIZE = _resizing("Resize", Roles(sizes=(3,)))

UPSAMPLE = _resizing("Upsample")

RESIZING = (
    EXPAND,
    _block_mover("DepthToSpace", depth_to_space, move_depth_to_space),
    RESIZE,
    _block_mover("SpaceToDepth", space_to_depth, move_space_to_depth),
    _repeating("Tile", tile, tile_values),
    UPSAMPLE,
)
