"""How element-wise operators tie axes: one input, or several with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.model.tensors import NotFollowedError
from onnxlint_cmsis.model.variables import Dimension, find

if TYPE_CHECKING:
    from onnxlint_cmsis.model.context import Context
    from onnxlint_cmsis.model.graph import Node


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
