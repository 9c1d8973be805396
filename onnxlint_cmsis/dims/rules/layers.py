"""Operators with weights: convolutions, Gemm, MatMul and their integer forms, numbers per channel."""

from __future__ import annotations

from onnxlint_cmsis.dims.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.dims.rules.elementwise import broadcast_axis, same_as
from onnxlint_cmsis.dims.rules.rule import Rule, per_name
from onnxlint_cmsis.dims.variables import Dimension
from onnxlint_cmsis.onnx_graph.graph import Node


def convolution(context: Context, data: int, weights: int, per_output: tuple[int, ...]) -> None:
    """Convolution with weights [M, C / group, ...]; inputs at `per_output` hold a number per output channel, or one."""
    axes, kernel = _ranked(context, data, weights)
    group = context.node.int("group", 1)
    channels, (rows, columns) = axes[1], kernel[:2]
    if group == 1:
        context.tie(channels, columns)
        made, reads = rows, [columns]
    elif context.size(columns) == 1:
        made, reads = _depthwise(context, channels, kernel, group), []
    else:
        made, reads = _grouped(context, channels, rows, columns, group)
    context.layer(weights, [rows], reads)
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
    context.layer(weights, decides, reads)
    _finish(context, axes, kernel, made, per_output)


def _ranked(context: Context, data: int, weights: int) -> tuple[Axes, Axes]:
    axes, kernel = context.need(data), context.need(weights)
    if len(axes) != len(kernel) or len(axes) < 3:
        raise NotFollowedError(f"data of rank {len(axes)} and weights of rank {len(kernel)} do not make a convolution")
    return axes, kernel


def _finish(context: Context, axes: Axes, kernel: Axes, made: Dimension, per_output: tuple[int, ...]) -> None:
    """What all convolutions share: batch, bias and scales per channel, a plane computed anew."""
    operator = context.node.op_type
    context.pin_all(kernel[2:], f"kernel size of {operator}")
    context.pin_all(axes[2:], f"{operator} computes along this axis")
    for position in per_output:
        per_channel(context, position, made)
    result = context.output(0, [context.size(axes[0]), context.size(made), *[None] * (len(axes) - 2)])
    context.tie_all(result, (axes[0], made))
    context.pin_all(result[2:], f"{operator} computes along this axis")


def per_channel(context: Context, position: int, channels: Dimension) -> None:
    """An input that holds one number per channel, or a single one for all."""
    axes = context.input(position)
    if axes is None or not axes:
        return
    if len(axes) != 1:
        raise NotFollowedError(f"input {context.node.inputs[position]} has rank {len(axes)} where 0 or 1 is allowed")
    if context.size(axes[0]) != 1 or context.size(channels) == 1:
        context.tie(axes[0], channels)


def _depthwise(context: Context, channels: Dimension, kernel: Axes, group: int) -> Dimension:
    """Output channels of a depthwise convolution; its `group` attribute names the input channels."""
    rows = kernel[0]
    share = _share(context, rows, group)
    context.pin(kernel[1], "one input channel per group")
    context.tie(channels, Dimension(group))
    context.name_attribute("group", 0, [channels])
    if share == 1:
        context.tie(rows, channels)
    else:
        multiplier = Dimension(share)
        context.groups[context.node.index] = {"multiplier": multiplier}
        context.tie(rows, context.product((channels, multiplier)))
    return rows


def _multiplied(context: Context, channels: Dimension, multiplier: Dimension) -> Dimension:
    """Output channels of a transposed depthwise convolution, whose weights' second axis is the multiplier."""
    if context.size(multiplier) == 1:
        context.pin(multiplier, "one output channel per input channel")
        return channels
    context.groups[context.node.index] = {"multiplier": multiplier}
    return context.product((channels, multiplier))


def _grouped(
    context: Context, channels: Dimension, rows: Dimension, columns: Dimension, group: int
) -> tuple[Dimension, list[Dimension]]:
    """Input and output channels of a grouped convolution are each `group` blocks."""
    groups = context.fixed(group, "group count of a grouped convolution")
    outputs = Dimension(_share(context, rows, group))
    context.tie(channels, context.product((groups, columns)))
    context.tie(rows, context.product((groups, outputs)))
    context.groups[context.node.index] = {"group": groups, "inputs": columns, "outputs": outputs}
    return rows, [columns]


def _transposed_groups(
    context: Context, channels: Dimension, rows: Dimension, columns: Dimension, group: int
) -> tuple[Dimension, list[Dimension], list[Dimension]]:
    """As `_grouped`, with the weights [C, M / group, ...] of a transposed convolution."""
    groups = context.fixed(group, "group count of a grouped convolution")
    inputs = Dimension(_share(context, rows, group))
    context.tie(rows, context.product((groups, inputs)))
    context.tie(channels, rows)
    context.groups[context.node.index] = {"group": groups, "inputs": inputs, "outputs": columns}
    return context.product((groups, columns)), [columns], [inputs]


def _share(context: Context, channels: Dimension, group: int) -> int:
    total = context.size(channels)
    if group < 1 or total is None or total % group:
        raise NotFollowedError(f"{total} channels are not a multiple of {group} groups")
    return total // group


def matmul(context: Context, left: int, right: int) -> tuple[Dimension | None, Dimension | None]:
    """Matrix product of two inputs; returns the result's rows and columns, None where an input is a vector.

    With constants on one side, they are the weights. Two run-time inputs mix what they contract.
    """
    first, second = context.need(left), context.need(right)
    if not first or not second:
        raise NotFollowedError("a matrix product of a scalar")
    rows = first[-2] if len(first) > 1 else None
    columns = second[-1] if len(second) > 1 else None
    contracted = first[-1], second[-2] if len(second) > 1 else second[-1]
    context.tie(*contracted)
    if context.is_constant(right):
        context.layer(right, [columns] if columns is not None else [], [contracted[1]])
    elif context.is_constant(left):
        context.layer(left, [rows] if rows is not None else [], [contracted[0]])
    else:
        context.pin(contracted[0], "a product of two run-time tensors sums over this axis")
    batch = _batch(context, first[:-2], second[:-2])
    made = [*batch, *(axis for axis in (rows, columns) if axis is not None)]
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)
    return rows, columns


def _batch(context: Context, first: Axes, second: Axes) -> list[Dimension]:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    alone = len(longer) - len(shorter)
    return [*longer[:alone], *(broadcast_axis(context, pair) for pair in zip(longer[alone:], shorter, strict=True))]


def gemm(context: Context, left: int, right: int, bias: int | None) -> Dimension:
    """`A' B' + C` with optional transposition of A and B; returns the output columns."""
    first, second = context.need(left), context.need(right)
    if len(first) != 2 or len(second) != 2:
        raise NotFollowedError(f"Gemm of ranks {len(first)} and {len(second)} where 2 is allowed")
    rows, inner = first[::-1] if context.node.int("transA") else first
    depth, columns = second[::-1] if context.node.int("transB") else second
    context.tie(inner, depth)
    if context.is_constant(right):
        context.layer(right, [columns], [depth])
    elif context.is_constant(left):
        context.layer(left, [rows], [inner])
    else:
        context.pin(inner, "a product of two run-time tensors sums over this axis")
    context.tie_all(context.output(0, [context.size(rows), context.size(columns)]), (rows, columns))
    if bias is not None and context.has(bias):
        _gemm_bias(context, context.need(bias), (rows, columns))
    return columns


def _gemm_bias(context: Context, bias: Axes, result: Axes) -> None:
    """C is broadcast to the result, never the other way round."""
    if len(bias) > 2:
        raise NotFollowedError(f"C of Gemm has rank {len(bias)} where at most 2 is allowed")
    if all(context.size(axis) == 1 for axis in bias):
        return
    for axis, target in zip(bias[::-1], result[::-1], strict=False):
        broadcast_axis(context, (target, axis))


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


def plain_matmul(_node: Node, context: Context) -> None:
    """MatMul."""
    matmul(context, 0, 1)


def matmul_integer(_node: Node, context: Context) -> None:
    """MatMulInteger: zero-points per row of A and per column of B."""
    quantized_matmul(context, 0, 1, (2,), (3,))


def qlinear_matmul(_node: Node, context: Context) -> None:
    """QLinearMatMul: scales and zero-points per row of A and per column of B."""
    quantized_matmul(context, 0, 3, (1, 2), (4, 5))


def quantized_matmul(context: Context, left: int, right: int, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
    """Matrix product with numbers per row of A and per column of B."""
    made = matmul(context, left, right)
    for positions, axis in ((rows, made[0]), (columns, made[1])):
        for position in positions:
            if axis is not None:
                per_channel(context, position, axis)


def plain_gemm(_node: Node, context: Context) -> None:
    """Gemm."""
    gemm(context, 0, 1, 2)


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


LAYERS: dict[str, Rule] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
    "Gemm": plain_gemm,
    "MatMul": plain_matmul,
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": qlinear_matmul,
    **per_name("BatchNormalization InstanceNormalization", channel_numbers),
}
