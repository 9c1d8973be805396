"""Tie rules of convolutions, and of normalisation with numbers per channel."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.elementwise_ties import per_channel, same_as


def convolution(context: Context, data: int, weights: int, per_output: tuple[int, ...]) -> None:
    """Convolution with weights [M, C / group, ...]; inputs at `per_output` hold a number per output channel, or one."""
    axes, kernel = _ranked(context, data, weights)
    group = context.node.int("group", 1)
    channels, (rows, columns) = axes[1], kernel[:2]
    if group == 1:
        context.tie(channels, columns)
        made, reads = rows, [columns]
        if context.size(columns) == 1:
            context.multipliers[context.node.index] = rows
    elif context.size(columns) == 1:
        made, reads = _depthwise(context, channels, kernel, group), []
    else:
        made, reads = grouped(context, channels, rows, columns, group)
    note_layer(context, weights, [rows], reads)
    _finish(context, axes, kernel, made, per_output)


def transposed_convolution(context: Context, data: int, weights: int, per_output: tuple[int, ...]) -> None:
    """Transposed convolution with weights [C, M / group, ...]."""
    axes, kernel = _ranked(context, data, weights)
    group = context.node.int("group", 1)
    channels, (rows, columns) = axes[1], kernel[:2]
    if group == 1:
        context.tie(channels, rows)
        made, decides, reads = columns, [columns], [rows]
    elif group == context.size(rows):
        context.tie(channels, rows)
        made = _multiplied(context, channels, columns)
        decides, reads = [rows, columns], []
        context.name_attribute("group", 0, [channels])
    else:
        made, decides, reads = _transposed_groups(context, channels, rows, columns, group)
    note_layer(context, weights, decides, reads)
    _finish(context, axes, kernel, made, per_output)


def _ranked(context: Context, data: int, weights: int) -> tuple[Axes, Axes]:
    axes, kernel = context.need(data), context.need(weights)
    if len(axes) != len(kernel) or len(axes) < 3:
        raise NotFollowedError(f"data of rank {len(axes)} and weights of rank {len(kernel)} do not make a convolution")
    return axes, kernel


def note_layer(context: Context, weights: int, decides: list[Dimension], reads: list[Dimension]) -> None:
    """Note what constant weights decide and read; with others, a filled lane may meet a weight that is not 0."""
    if not context.is_constant(weights):
        context.pin_all(reads, f"{context.node.op_type} with weights computed at run time sums over this axis")
    context.layer(weights, decides, reads)


def _finish(context: Context, axes: Axes, kernel: Axes, made: Dimension, per_output: tuple[int, ...]) -> None:
    """Tie batch, bias and scales per channel, and lock the plane, as all convolutions do."""
    operator = context.node.op_type
    context.pin_all(kernel[2:], f"kernel size of {operator}")
    context.pin_all(axes[2:], f"{operator} computes along this axis")
    for position in per_output:
        per_channel(context, position, made)
    result = context.output(0, [context.size(axes[0]), context.size(made), *[None] * (len(axes) - 2)])
    context.tie_all(result, (axes[0], made))
    context.pin_all(result[2:], f"{operator} computes along this axis")


def _depthwise(context: Context, channels: Dimension, kernel: Axes, group: int) -> Dimension:
    """Output channels of a depthwise convolution; its `group` attribute names the input channels."""
    rows = kernel[0]
    share = share_of(context, rows, group)
    context.pin(kernel[1], "one input channel per group")
    context.tie(channels, Dimension(group))
    context.name_attribute("group", 0, [channels])
    if share == 1:
        context.tie(rows, channels)
    else:
        multiplier = Dimension(share)
        context.multipliers[context.node.index] = multiplier
        context.tie(rows, context.product((channels, multiplier)))
    return rows


def _multiplied(context: Context, channels: Dimension, multiplier: Dimension) -> Dimension:
    """Output channels of a transposed depthwise convolution; the second axis of its weights is the multiplier."""
    if context.size(multiplier) == 1:
        context.pin(multiplier, "one output channel per input channel")
        return channels
    context.multipliers[context.node.index] = multiplier
    return context.product((channels, multiplier))


def grouped(
    context: Context, channels: Dimension, rows: Dimension, columns: Dimension, group: int
) -> tuple[Dimension, list[Dimension]]:
    """Input and output channels of a grouped convolution are each `group` blocks."""
    groups = context.fixed(group, "group count of a grouped convolution")
    outputs = Dimension(share_of(context, rows, group))
    context.tie(channels, context.product((groups, columns)))
    context.tie(rows, context.product((groups, outputs)))
    return rows, [columns]


def _transposed_groups(
    context: Context, channels: Dimension, rows: Dimension, columns: Dimension, group: int
) -> tuple[Dimension, list[Dimension], list[Dimension]]:
    """As `grouped`, with the weights [C, M / group, ...] of a transposed convolution."""
    groups = context.fixed(group, "group count of a grouped convolution")
    inputs = Dimension(share_of(context, rows, group))
    context.tie(rows, context.product((groups, inputs)))
    context.tie(channels, rows)
    return context.product((groups, columns)), [columns], [inputs]


def share_of(context: Context, channels: Dimension, group: int) -> int:
    """Channels of each group. Raises NotFollowedError where they do not come out even."""
    total = context.size(channels)
    if group < 1 or total is None or total % group:
        raise NotFollowedError(f"{total} channels are not a multiple of {group} groups")
    return total // group


def conv(_node: Node, context: Context) -> None:
    """Conv."""
    convolution(context, 0, 1, (2,))


def conv_transpose(_node: Node, context: Context) -> None:
    """ConvTranspose."""
    transposed_convolution(context, 0, 1, (2,))


def conv_integer(_node: Node, context: Context) -> None:
    """ConvInteger: weight zero-points may be per channel."""
    convolution(context, 0, 1, (3,))


def qlinear_conv(_node: Node, context: Context) -> None:
    """QLinearConv: weight scales, weight zero-points and bias."""
    convolution(context, 0, 3, (4, 5, 8))


def channel_numbers(node: Node, context: Context) -> None:
    """BatchNormalization, InstanceNormalization: every further input holds a number per channel (axis 1)."""
    axes = context.need(0)
    if len(axes) < 2:
        raise NotFollowedError(f"{node.op_type} of rank {len(axes)} has no channel axis")
    for position in range(1, len(node.inputs)):
        per_channel(context, position, axes[1])
    same_as(context, 0, axes)
    if node.op_type == "InstanceNormalization":
        context.pin_all(axes[2:], "InstanceNormalization mixes this axis")
    elif any(node.outputs[1:]) or node.int("training_mode"):
        raise NotFollowedError("BatchNormalization in training mode")
