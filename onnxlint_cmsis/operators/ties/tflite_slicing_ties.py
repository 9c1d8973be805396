"""Tie rules of TensorFlow Lite's operators that join axes, take pieces of them or grow them."""

from __future__ import annotations

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.operators.ties.shaping_ties import normalised
from onnxlint_cmsis.operators.ties.slicing_ties import (
    TO_THE_END,
    Limits,
    bind_pieces,
    cut,
    gather,
    join,
    others,
    pad_axis,
    slice_axis,
)
from onnxlint_cmsis.operators.ties.tflite_shaping_ties import made_of
from onnxlint_cmsis.types import Size


def concatenation(node: Node, context: Context) -> None:
    """The axis of the result holds the inputs' axes in order."""
    operands = [context.need(position) for position in range(len(node.inputs)) if context.has(position)]
    join(context, operands, node.int("axis"))


def split(node: Node, context: Context) -> None:
    """SPLIT: equal pieces along the axis that input 0 names."""
    axis = context.ints(0)
    if axis is None or len(axis) != 1:
        raise NotFollowedError("the axis to split is computed at run time")
    _pieces(node, context, context.need(1), axis[0], equal=True)


def split_v(node: Node, context: Context) -> None:
    """SPLIT_V: pieces of the sizes in input 1, along the axis that input 2 names."""
    axis, sizes = context.ints(2), context.ints(1)
    if axis is None or len(axis) != 1 or sizes is None or len(sizes) != len(node.outputs) or min(sizes) < 0:
        raise NotFollowedError("the sizes of the pieces are not known")
    _pieces(node, context, context.need(0), axis[0], equal=False)


def _pieces(node: Node, context: Context, axes: Axes, along: int, *, equal: bool) -> None:
    axis = normalised(along, len(axes))
    pieces = []
    for position in range(len(node.outputs)):
        piece = context.output(position, [None if one is axes[axis] else context.size(one) for one in axes])
        context.tie_all(others(piece, axis), others(axes, axis))
        pieces.append(piece[axis])
    bind_pieces(context, axes[axis], pieces, equal=equal)


def slice_(_node: Node, context: Context) -> None:
    """SLICE: so many elements (input 2, -1 for all that are left) from a place on (input 1), along every axis."""
    axes, starts, counts = context.need(0), context.ints(1), context.ints(2)
    if starts is None or counts is None or not len(starts) == len(counts) == len(axes):
        raise NotFollowedError("where to slice is computed at run time")
    made = [_taken(context, axis, place, starts[place], counts[place]) for place, axis in enumerate(axes)]
    made_of(context, made)


def _taken(context: Context, axis: Dimension, place: int, start: int, count: int) -> Dimension:
    size = context.size(axis)
    end = size if count == -1 else start + count
    if size is None or end is None or not 0 <= start < end <= size:
        raise NotFollowedError(f"a slice of {count} elements from {start} on, out of {size}")
    before, taken, _after = cut(context, axis, start, end)
    if start:
        context.name_input(1, place, before)
    if count != -1:
        context.name_input(2, place, taken)
    return taken[0]


def strided_slice(node: Node, context: Context) -> None:
    """STRIDED_SLICE: begin, end and step of every axis; masks say which of them count."""
    axes = context.need(0)
    starts, ends, steps = context.ints(1), context.ints(2), context.ints(3)
    if starts is None or ends is None or steps is None or not len(starts) == len(ends) == len(steps):
        raise NotFollowedError("where to slice is computed at run time")
    if node.int("ellipsis_mask") or node.int("new_axis_mask") or node.int("offset") or len(starts) > len(axes):
        raise NotFollowedError("a slice with an ellipsis, a new axis or limits that count from the start")
    made = []
    for place, axis in enumerate(axes):
        if place >= len(starts):
            made.append(axis)
        elif node.int("shrink_axis_mask") >> place & 1:
            context.pin(axis, "one element of this axis is taken")
        else:
            start = 0 if node.int("begin_mask") >> place & 1 else starts[place]
            end = TO_THE_END if node.int("end_mask") >> place & 1 else ends[place]
            made.append(slice_axis(context, axis, Limits(place, start, end, steps[place])))
    made_of(context, made)


def gather_along(node: Node, context: Context) -> None:
    """GATHER along one axis, without batches."""
    if node.int("batch_dims"):
        raise NotFollowedError("GATHER in batches")
    gather(node, context)


def pad(_node: Node, context: Context) -> None:
    """PAD, PADV2, MIRROR_PAD: counts before and after each axis in input 1, [rank, 2]."""
    axes, counts = context.need(0), flat_ints(context, 1)
    if counts is None or len(counts) != 2 * len(axes):
        raise NotFollowedError("how much is padded is computed at run time")
    pairs = zip(axes, counts[::2], counts[1::2], strict=True)
    made_of(context, [pad_axis(context, axis, before, after) for axis, before, after in pairs])


def flat_ints(context: Context, position: int) -> tuple[int, ...] | None:
    """Numbers of a constant of any rank, in order; None where it is none."""
    constant = context.graph.constants.get(context.node.inputs[position]) if context.has(position) else None
    values = constant.values() if constant is not None and "int" in constant.elem_type else None
    return None if values is None else tuple(int(value) for value in values)


def space_to_batch(_node: Node, context: Context) -> None:
    """SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND: batch and plane are laid out anew, channels stay."""
    axes, blocks = context.need(0), context.ints(1)
    if blocks is None or len(blocks) >= len(axes):
        raise NotFollowedError("the sizes of the blocks are computed at run time")
    moved = len(blocks) + 1
    reason = f"{context.node.op_type} moves blocks along this axis"
    sizes: list[Size] = [*[None] * moved, *(context.size(axis) for axis in axes[moved:])]
    result = context.output(0, sizes)
    context.tie_all(result[moved:], axes[moved:])
    context.pin_all((*axes[:moved], *result[:moved]), reason)


def depth_to_space(node: Node, context: Context) -> None:
    """DEPTH_TO_SPACE: channels are [b, b, C']; the blocks move into the plane."""
    axes, blocks = _blocks(node, context)
    total, block = context.size(axes[3]), node.int("block_size")
    if total is None or total % (block * block):
        raise NotFollowedError(f"{total} channels are not a multiple of {block * block}")
    inner = Dimension(total // (block * block))
    context.tie(axes[3], context.product((*blocks, inner)))
    _moved_plane(node, context, axes, inner)


def space_to_depth(node: Node, context: Context) -> None:
    """SPACE_TO_DEPTH: channels of the result are [b, b, C]."""
    axes, blocks = _blocks(node, context)
    _moved_plane(node, context, axes, context.product((*blocks, axes[3])))


def _blocks(node: Node, context: Context) -> tuple[Axes, list[Dimension]]:
    axes, block = context.need(0), node.int("block_size")
    if len(axes) != 4 or block < 1:
        raise NotFollowedError(f"rank {len(axes)} and block size {block} where 4 and at least 1 are allowed")
    return axes, [context.fixed(block, f"block size of {node.op_type}") for _ in range(2)]


def _moved_plane(node: Node, context: Context, axes: Axes, channels: Dimension) -> None:
    reason = f"{node.op_type} moves blocks along this axis"
    result = context.output(0, [context.size(axes[0]), None, None, context.size(channels)])
    context.tie_all((result[0], result[3]), (axes[0], channels))
    context.pin_all((*axes[1:3], *result[1:3]), reason)


def reverse(_node: Node, context: Context) -> None:
    """REVERSE_V2: the axes that are turned round are locked."""
    axes, turned = context.need(0), context.ints(1)
    if turned is None:
        raise NotFollowedError("the axes to reverse are computed at run time")
    context.pin_all(
        (axes[normalised(axis, len(axes))] for axis in turned), "the elements along this axis change places"
    )
    made_of(context, list(axes))
