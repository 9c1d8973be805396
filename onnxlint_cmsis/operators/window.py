"""Pooling, resizing, and operators that repeat or stretch elements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Axes, Context, Element, NotFollowedError, Number
from onnxlint_cmsis.model.graph import TFLITE, Node
from onnxlint_cmsis.model.intervals import Interval, anywhere, hull, level, point
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.model.variables import Dimension, find
from onnxlint_cmsis.operators import weighted as ties
from onnxlint_cmsis.operators.arithmetic import (
    Summary,
    elementwise_demand,
    expand_values,
    largest,
    mean,
    norm,
    pad_demand,
    pad_values,
    picked_values,
    plane_demand,
    pooled,
    resize_demand,
    resize_values,
    through_scales,
)
from onnxlint_cmsis.operators.common_ties import normalised
from onnxlint_cmsis.operators.mixing import pool
from onnxlint_cmsis.operators.record import (
    AS_READ,
    OPAQUE,
    ZEROS,
    Elements,
    Layout,
    Movement,
    NotFollowed,
    Operator,
    Risk,
    TieRule,
    ValueRule,
    ValueView,
    has,
    move_depth_to_space,
    move_space_to_depth,
)

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Attribute
    from onnxlint_cmsis.model.intervals import Mask


# Tie rules of operators that repeat, stretch or move elements between axes.


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
    axes, blocks = _ties_blocks(node, context)
    inner = Dimension(_divided(context, axes[1], node.int("blocksize")))
    crd = node.text("mode", "DCR") == "CRD"
    context.tie(axes[1], context.product((inner, *blocks) if crd else (*blocks, inner)))
    _new_plane(node, context, axes, inner)


def space_to_depth(node: Node, context: Context) -> None:
    """Channels of the result are [b, b, C]."""
    axes, blocks = _ties_blocks(node, context)
    _new_plane(node, context, axes, context.product((*blocks, axes[1])))


def _ties_blocks(node: Node, context: Context) -> tuple[Axes, list[Dimension]]:
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


# Intervals and needs of TensorFlow Lite's operators on NHWC images: pools, resizing, padding.


PLANE = (1, 2)
"""H and W."""


def of_plane(summary: Summary) -> ValueRule:
    """Elements of a plane taken together, channel by channel; windows leave padding out."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        x = view.input(node, 0)
        return None if x is None or x.low.ndim != 4 else summary(level(x, PLANE), node, view.rounding(node))

    return rule


def image_demand(_node: Node, _view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel's plane."""
    return {0: anywhere(mask, PLANE)} if mask.ndim == 4 else None


def block_values(node: Node, view: ValueView) -> Interval | None:
    """Elements of the same channel from anywhere, or the zeros that pad."""
    x, blocks = view.input(node, 0), view.ints(node, "", 1)
    if x is None or blocks is None or len(blocks) >= x.low.ndim:
        return None
    return hull(level(x, range(len(blocks) + 1)), point(0.0))


def block_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel."""
    blocks = view.ints(node, "", 1)
    return {0: anywhere(mask, range(len(blocks) + 1))} if blocks and len(blocks) < mask.ndim else None


def pad_result(node: Node, view: ValueView) -> Interval | None:
    """A number around the data; for MIRROR_PAD elements of the data."""
    value = view.input(node, 2) if has(node, 2) else point(0.0)
    if value is None or not value.exact.all() or value.low.size != 1:
        return None
    return pad_values(as_pad(node, view, float(value.low.flat[0])), view)


def pad_need(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """The part of the result inside the padding."""
    return pad_demand(as_pad(node, view, 0.0), view, mask)


def as_pad(node: Node, view: ValueView, value: float) -> Node:
    """The node as ONNX's Pad: counts in front of all axes, then behind."""
    counts = view.ints(node, "", 1)
    mode = "reflect" if "mode" in node.attributes else "constant"
    attributes: dict[str, Attribute] = {"mode": mode, "value": value}
    if counts is not None:
        attributes["pads"] = tuple(counts[::2] + counts[1::2])
    return replace(node, op_type="Pad", domain="", inputs=node.inputs[:1], attributes=attributes)


# Pooling: each channel on its own, the plane computed anew.


def _pooling(name: str, summary: Summary, elements: Elements = Elements.COMPUTED) -> Operator:
    made = Operator(name, pool, elements, Risk.NONE, Layout.IMAGE, new_lane=ZEROS)
    return replace(made, values=pooled(summary), demand=plane_demand)


AVERAGE_POOL = _pooling("AveragePool", mean)
GLOBAL_AVERAGE_POOL = _pooling("GlobalAveragePool", mean)
MAX_POOL = _pooling("MaxPool", largest, Elements.SELECTED)

POOLING = (
    *(AVERAGE_POOL, GLOBAL_AVERAGE_POOL),
    _pooling("GlobalLpPool", norm),
    _pooling("GlobalMaxPool", largest, Elements.SELECTED),
    _pooling("LpPool", norm),
    MAX_POOL,
)


# TensorFlow Lite's operators on the plane of an image: pools and resizing.


STEP = 1.0
"""How far a kernel in fixed-point numbers may be from the function, in steps of the result."""


def _plane(name: str, values: ValueRule | NotFollowed, elements: Elements = Elements.COMPUTED) -> Operator:
    made = ties.resize_2d if name.startswith("RESIZE") else ties.pool_2d
    new_lane = AS_READ if elements is Elements.MOVED else ZEROS
    record = Operator(name, made, elements, Risk.NONE, Layout.ORDERED, domain=TFLITE, new_lane=new_lane)
    record = replace(record, roles=Roles(channels_last=True))
    return replace(record, values=values, demand=image_demand)


TFLITE_POOLING = (
    _plane("AVERAGE_POOL_2D", through_scales(of_plane(mean), copies=True)),
    _plane("MAX_POOL_2D", through_scales(of_plane(largest), copies=True), Elements.SELECTED),
    _plane("L2_POOL_2D", OPAQUE),
    _plane("RESIZE_BILINEAR", through_scales(of_plane(mean), error=STEP, copies=True)),
    _plane("RESIZE_NEAREST_NEIGHBOR", through_scales(of_plane(largest), copies=True), Elements.MOVED),
)


# Operators that repeat, stretch or move elements between axes.


def _operators_blocks(name: str, axes: TieRule, movement: Movement) -> Operator:
    return Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.IMAGE, new_lane=AS_READ, zero=(0,), movement=movement)


def _repeating(name: str, axes: TieRule, values: ValueRule, roles: Roles | None = None) -> Operator:
    made = Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, new_lane=AS_READ)
    return replace(made, roles=roles or Roles(), zero=(0,), values=values)


def _resizing(name: str, roles: Roles | None = None) -> Operator:
    made = Operator(name, resize, Elements.COMPUTED, Risk.NONE, Layout.IMAGE, new_lane=ZEROS)
    return replace(made, roles=roles or Roles(), values=resize_values, demand=resize_demand)


EXPAND = replace(_repeating("Expand", expand, expand_values, Roles(sizes=(1,))), demand=elementwise_demand)

RESIZING = (
    EXPAND,
    _operators_blocks("DepthToSpace", depth_to_space, move_depth_to_space),
    _resizing("Resize", Roles(sizes=(3,))),
    _operators_blocks("SpaceToDepth", space_to_depth, move_space_to_depth),
    _repeating("Tile", tile, picked_values),
    _resizing("Upsample"),
)
