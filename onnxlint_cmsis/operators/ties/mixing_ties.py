"""Tie rules of operators that mix or count the elements of an axis, and of pooling, which mixes the plane."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.elementwise_ties import same_as
from onnxlint_cmsis.operators.ties.shaping_ties import normalised


def pool(node: Node, context: Context) -> None:
    """Tie batch and channels, lock the plane."""
    axes = context.need(0)
    if len(axes) < 3:
        raise NotFollowedError(f"pooling of rank {len(axes)}")
    reason = f"{node.op_type} computes along this axis"
    plane = 1 if node.op_type.startswith("Global") else None
    sizes = [*map(context.size, axes[:2]), *[plane] * (len(axes) - 2)]
    for position in range(len(node.outputs)):
        result = context.output(position, sizes)
        context.tie_all(result[:2], axes[:2])
        context.pin_all(result[2:], reason)
    context.pin_all(axes[2:], reason)
    if any(node.outputs[1:]):
        context.pin_all(axes, f"the indices of {node.op_type} count elements across all axes")


def along_axis(node: Node, context: Context) -> None:
    """Same axes; the operator mixes the one its `axis` names."""
    axes = context.need(0)
    same_as(context, 0, axes)
    default = {"CumSum": 0, "LpNormalization": -1, "LRN": 1}.get(node.op_type, -1)
    axis = context.ints(1) if node.op_type == "CumSum" else (node.int("axis", default),)
    chosen = axes if not axis else (axes[normalised(axis[0], len(axes))],)
    context.pin_all(chosen, f"{node.op_type} mixes this axis")


def softmax(node: Node, context: Context) -> None:
    """One axis from opset 13 on; before, everything from `axis` on."""
    axes = context.need(0)
    same_as(context, 0, axes)
    modern = node.opset >= 13
    axis = normalised(node.int("axis", -1 if modern else 1), len(axes))
    context.pin_all(axes[axis : axis + 1] if modern else axes[axis:], f"{node.op_type} mixes this axis")


def reduce(node: Node, context: Context) -> None:
    """Lock the reduced axes; the result lacks them or has them with size 1."""
    axes = context.need(0)
    chosen = _reduced(node, context, axes)
    keep = node.int("keepdims", 1)
    reduced_axes(context, axes, chosen, 1 if keep else None)


def _reduced(node: Node, context: Context, axes: Axes) -> set[int]:
    listed = context.ints_of("axes", 1, ())
    if listed is None:
        raise NotFollowedError("the axes to reduce are computed at run time")
    if not listed and not node.int("noop_with_empty_axes"):
        listed = tuple(range(len(axes)))
    return {normalised(axis, len(axes)) for axis in listed}


def reduced_axes(context: Context, axes: Axes, chosen: set[int], kept: int | None) -> None:
    """Lock the chosen axes; every output has them with size `kept`, or lacks them where `kept` is None."""
    reason = f"{context.node.op_type} mixes this axis"
    context.pin_all((axes[axis] for axis in sorted(chosen)), reason)
    made = []
    for place, axis in enumerate(axes):
        if place not in chosen:
            made.append(axis)
        elif kept is not None:
            made.append(context.fixed(kept, reason))
    for position in range(len(context.node.outputs)):
        context.tie_all(context.output(position, [context.size(axis) for axis in made]), made)


def arg_extreme(node: Node, context: Context) -> None:
    """ArgMax, ArgMin: positions along one axis."""
    axes = context.need(0)
    axis = normalised(node.int("axis", 0), len(axes))
    reduced_axes(context, axes, {axis}, 1 if node.int("keepdims", 1) else None)


def top_k(node: Node, context: Context) -> None:
    """Values and positions along one axis, which becomes k long."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    count = context.ints(1) if context.has(1) else (node.int("k"),)
    made = list(axes)
    context.pin(axes[axis], "TopK compares along this axis")
    made[axis] = context.fixed(count[0] if count else None, "TopK picks along this axis")
    for position in range(len(node.outputs)):
        context.tie_all(context.output(position, [context.size(one) for one in made]), made)


def layer_normalization(node: Node, context: Context) -> None:
    """Mixes every axis from `axis` on; scale and bias lie along them."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    same_as(context, 0, axes)
    context.pin_all(axes[axis:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")
    for position in range(1, len(node.outputs)):
        statistics = [*axes[:axis], *(context.fixed(1, f"{node.op_type} mixes this axis") for _ in axes[axis:])]
        context.tie_all(context.output(position, [context.size(one) for one in statistics]), statistics)


def group_normalization(node: Node, context: Context) -> None:
    """Mixes the channels of each group and the plane."""
    axes = context.need(0)
    same_as(context, 0, axes)
    context.pin_all(axes[1:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")


def mean_variance(node: Node, context: Context) -> None:
    """Mixes the axes it names."""
    axes = context.need(0)
    same_as(context, 0, axes)
    for axis in node.ints("axes", (0, 2, 3)):
        context.pin(axes[normalised(axis, len(axes))], f"{node.op_type} mixes this axis")
