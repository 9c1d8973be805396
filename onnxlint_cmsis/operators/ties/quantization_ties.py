"""Tie rules of quantization: scales and zero-points per axis belong to the axis."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.elementwise_ties import same_as
from onnxlint_cmsis.operators.ties.shaping_ties import normalised


def quantize(node: Node, context: Context) -> None:
    """QuantizeLinear and DequantizeLinear: per tensor, per axis, or in blocks along an axis."""
    axes = context.need(0)
    for position in (1, 2):
        if context.has(position):
            parameter_axes(node, context, axes, context.need(position))
    same_as(context, 0, axes)


def parameter_axes(node: Node, context: Context, axes: Axes, parameter: Axes) -> None:
    """Tie the axes of a scale or zero-point to those of the data it is for."""
    if node.int("block_size") or len(parameter) > 1:
        _blocked(node, context, axes, parameter)
    elif parameter and context.size(parameter[0]) != 1:
        context.tie(parameter[0], axes[_axis(node, axes)])
    elif parameter and len(axes) == 1 and context.size(axes[0]) == 1:
        context.tie(parameter[0], axes[0])


def _axis(node: Node, axes: Axes) -> int:
    """Axis of the scales; for a vector its only one."""
    return 0 if len(axes) == 1 else normalised(node.int("axis", 1), len(axes))


def _blocked(node: Node, context: Context, axes: Axes, parameter: Axes) -> None:
    if len(parameter) != len(axes):
        raise NotFollowedError(f"a scale of rank {len(parameter)} for data of rank {len(axes)}")
    blocked = normalised(node.int("axis", 1), len(axes))
    for place, (axis, other) in enumerate(zip(axes, parameter, strict=True)):
        if place == blocked:
            context.pin_all((axis, other), "quantized in blocks along this axis")
        else:
            context.tie(axis, other)


def dynamic_quantize(node: Node, context: Context) -> None:
    """Lock every axis: the range spans all elements, so a new lane that is not zero changes all others."""
    axes = context.need(0)
    same_as(context, 0, axes)
    context.pin_all(axes, "the quantization range is taken over all lanes, and a filled one need not be zero")
    for position in range(1, len(node.outputs)):
        context.output(position, [])
