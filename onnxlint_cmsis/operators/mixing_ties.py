"""How operators tie axes whose elements they mix or count."""

from __future__ import annotations

from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.operators.regroup_ties import normalised


def along_axis(node: Node, context: Context) -> None:
    """Same axes; the operator mixes the one it names."""
    axes, listed = context.need(0), context.stated("axis", (-1,))
    context.output_as(0, axes)
    chosen = [axes[normalised(axis, len(axes))] for axis in listed] if listed else axes
    context.pin_all(chosen, f"{node.op_type} mixes this axis")


def softmax(node: Node, context: Context) -> None:
    """One axis from opset 13 on; before, everything from `axis` on."""
    axes = context.need(0)
    context.output_as(0, axes)
    modern = node.opset >= 13
    axis = normalised(node.int("axis", -1 if modern else 1), len(axes))
    context.pin_all(axes[axis : axis + 1] if modern else axes[axis:], f"{node.op_type} mixes this axis")


def reduce(node: Node, context: Context) -> None:
    """Lock the reduced axes; the result lacks them or has them with size 1."""
    axes, listed = context.need(0), context.stated("axes", ())
    if listed is None:
        raise NotFollowedError("the axes to reduce are computed at run time")
    if not listed and not context.roles.number(node, "noop_with_empty_axes"):
        listed = tuple(range(len(axes)))
    kept = 1 if context.roles.number(node, "keepdims", 1) else None
    reduced_axes(context, axes, {normalised(axis, len(axes)) for axis in listed}, kept)


def reduced_axes(context: Context, axes: Axes, chosen: set[int], kept: int | None) -> None:
    """Lock the chosen axes; every output has them with size `kept`, or lacks them where `kept` is None."""
    reason = f"{context.node.op_type} mixes this axis"
    context.pin_all((axes[axis] for axis in sorted(chosen)), reason)
    kept_axes = []
    for number, axis in enumerate(axes):
        if number not in chosen:
            kept_axes.append(axis)
        elif kept is not None:
            kept_axes.append(context.fixed(kept, reason))
    for position in range(len(context.node.outputs)):
        context.output_as(position, kept_axes)


def arg_extreme(node: Node, context: Context) -> None:
    """ArgMax, ArgMin: positions along one axis."""
    axes, listed = context.need(0), context.stated("axis", (0,))
    if listed is None or len(listed) != 1:
        raise NotFollowedError("the axis to look along is computed at run time")
    kept = 1 if context.roles.number(node, "keepdims", 1) else None
    reduced_axes(context, axes, {normalised(listed[0], len(axes))}, kept)


def top_k(node: Node, context: Context) -> None:
    """Values and positions along one axis, which becomes k long."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    count = context.ints(1) if context.has(1) else (node.int("k"),)
    result = list(axes)
    context.pin(axes[axis], "TopK compares along this axis")
    result[axis] = context.fixed(count[0] if count else None, "TopK picks along this axis")
    for position in range(len(node.outputs)):
        context.output_as(position, result)


def layer_normalization(node: Node, context: Context) -> None:
    """Mixes every axis from `axis` on; scale and bias lie along them."""
    axes = context.need(0)
    axis = normalised(node.int("axis", -1), len(axes))
    context.output_as(0, axes)
    context.pin_all(axes[axis:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")
    for position in range(1, len(node.outputs)):
        statistics = [*axes[:axis], *(context.fixed(1, f"{node.op_type} mixes this axis") for _ in axes[axis:])]
        context.output_as(position, statistics)


def group_normalization(node: Node, context: Context) -> None:
    """Mixes the channels of each group and the plane."""
    axes = context.need(0)
    context.output_as(0, axes)
    context.pin_all(axes[1:], f"{node.op_type} mixes this axis")
    for position in (1, 2):
        if context.has(position):
            context.pin_all(context.need(position), f"{node.op_type} mixes this axis")


def mean_variance(node: Node, context: Context) -> None:
    """Mixes the axes it names."""
    axes = context.need(0)
    context.output_as(0, axes)
    for axis in node.ints("axes", (0, 2, 3)):
        context.pin(axes[normalised(axis, len(axes))], f"{node.op_type} mixes this axis")
