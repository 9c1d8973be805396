"""Operators that move elements without changing them: shapes, slices, joins, gathers."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.context import Axes, Context, NotFollowedError, Number
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators import common_ties as ties
from onnxlint_cmsis.operators.arithmetic import (
    concat_demand,
    concat_values,
    pad_demand,
    pad_values,
)
from onnxlint_cmsis.operators.common_ties import normalised, regroup, same_sizes
from onnxlint_cmsis.operators.record import (
    AS_READ,
    COMPUTES,
    Elements,
    Layout,
    Move,
    Movement,
    NotFollowed,
    Operator,
    Passage,
    Risk,
    SizeRule,
    TieRule,
    chain,
    fold_concat,
    fold_gather,
    fold_reshape,
    fold_slice,
    fold_squeeze,
    fold_transpose,
    fold_unsqueeze,
    move_gather,
    move_ones,
    move_regroup,
    move_slice,
    move_split,
    sliced,
    transpose,
)

# How TensorFlow Lite's operators move elements without changing them.


def move_counted_slice(way: Passage) -> Move | None:
    """So many elements (input 2) from a place on (input 1)."""
    starts, counts = way.view.ints(way.node, 1), way.view.ints(way.node, 2)
    if starts is None or counts is None or not len(starts) == len(counts) == len(way.before):
        return None
    limits = [slice(start, None if count == -1 else start + count) for start, count in zip(starts, counts, strict=True)]
    return chain(*(sliced(way.before, axis, limit) for axis, limit in enumerate(limits)))


def move_strided_slice(way: Passage) -> Move | None:
    """Elements at steps between limits; an axis of which one element is taken goes."""
    node, view = way.node, way.view
    starts, ends, steps = (view.ints(node, position) for position in (1, 2, 3))
    masks = ("ellipsis_mask", "new_axis_mask", "offset", "shrink_axis_mask")
    if starts is None or ends is None or steps is None or any(map(node.int, masks)) or 0 in steps:
        return None
    if not len(starts) == len(ends) == len(steps) <= len(way.before):
        return None
    moves = []
    for axis, (start, end, step) in enumerate(zip(starts, ends, steps, strict=True)):
        first = None if node.int("begin_mask") >> axis & 1 else start
        last = None if node.int("end_mask") >> axis & 1 else end
        moves.append(sliced(way.before, axis, slice(first, last, step)))
    return chain(*moves)


def move_reverse(way: Passage) -> Move | None:
    """Listed axes the other way round."""
    axes = way.view.ints(way.node, 1)
    if axes is None or not all(-len(way.before) <= axis < len(way.before) for axis in axes):
        return None
    turned = tuple(sorted({axis % len(way.before) for axis in axes}))
    return Move(lambda array: np.flip(array, turned), lambda mask: np.flip(mask, turned))


# Tie rules of TensorFlow Lite's operators that give the same elements other axes, or make an axis of tensors.


RUN_TIME_SHAPE = "the target shape is computed at run time"


def reshape(node: Node, context: Context) -> None:
    """Two grids over the same elements; input 1 and the option `new_shape` name the result's sizes."""
    axes, result = context.need(0), context.axes_of(node.outputs[0])
    if result is None:
        raise NotFollowedError("the rank of the result is not known")
    if context.has(1):
        _named_by_input(context, result)
    stated = node.ints("new_shape")
    if len(stated) == len(result):
        for position, size in enumerate(stated):
            if size >= 0:
                context.name_attribute("new_shape", position, [result[position]])
    regroup(context, axes, result)


def _named_by_input(context: Context, result: Axes) -> None:
    """Elements of the target that name sizes: fixed numbers, or sizes of other tensors."""
    target = context.values(1)
    if target is None or len(target) != len(result):
        context.pin_all(result, RUN_TIME_SHAPE)
        return
    for position, element in enumerate(target):
        if isinstance(element, Dimension):
            context.tie(result[position], element)
        elif element is None:
            context.pin(result[position], "this part of the target shape is computed at run time")
        elif isinstance(element, Number) and element.value >= 0:
            context.name_input(1, position, [result[position]])


def pack(node: Node, context: Context) -> None:
    """Tensors of one shape along a new axis."""
    operands = [context.need(position) for position in range(len(node.inputs)) if context.has(position)]
    if not operands or len({len(axes) for axes in operands}) != 1:
        raise NotFollowedError("the inputs differ in rank")
    for axes in operands[1:]:
        context.tie_all(axes, operands[0])
    result = list(operands[0])
    count = context.fixed(len(operands), "PACK counts its inputs along this axis")
    result.insert(normalised(node.int("axis"), len(result) + 1), count)
    context.output_as(0, result)


def unpack(node: Node, context: Context) -> None:
    """Tensors of one shape, taken from the places along an axis."""
    axes = context.need(0)
    axis = normalised(node.int("axis"), len(axes))
    context.pin(axes[axis], "UNPACK counts its outputs along this axis")
    for position in range(len(node.outputs)):
        context.output_as(position, others(axes, axis))


# Tie rules of operators that join axes or take pieces of them.


TO_THE_END = 2**31 - 1
"""Limits from here on mean the end of the axis, as exporters write it."""


def concat(node: Node, context: Context) -> None:
    """The axis of the result holds the inputs' axes in order."""
    operands = [context.need(position) for position in context.roles.data_of(node)]
    join(context, operands, context.roles.number(node, "axis", 1))


def join(context: Context, operands: list[Axes], along: int) -> None:
    """Concatenate operands along an axis; all other axes are tied."""
    if len({len(axes) for axes in operands}) != 1:
        raise NotFollowedError("the inputs of Concat differ in rank")
    axis = normalised(along, len(operands[0]))
    for axes in operands[1:]:
        context.tie_all(others(axes, axis), others(operands[0], axis))
    result = list(operands[0])
    result[axis] = context.concat(axes[axis] for axes in operands)
    context.output_as(0, result)


def others(axes: Axes, axis: int) -> list[Dimension]:
    """All axes but one."""
    return [other for position, other in enumerate(axes) if position != axis]


def split(node: Node, context: Context) -> None:
    """The axis of the input holds the outputs' axes in order; without listed sizes all pieces stay equal."""
    axes, along = context.need(context.roles.data[0]), context.stated("axis", (0,))
    if along is None or len(along) != 1:
        raise NotFollowedError("the axis to split is computed at run time")
    axis = normalised(along[0], len(axes))
    total, count = context.size(axes[axis]), len(node.outputs)
    sizes = context.stated("split", ())
    if sizes is None or (sizes and (len(sizes) != count or min(sizes) < 0)):
        raise NotFollowedError("the sizes of the pieces are not known")
    shares = sizes or ([total // count] * count if total is not None and total % count == 0 else [None] * count)
    pieces = []
    for position, share in enumerate(shares):
        piece = context.output(position, [share if other is axes[axis] else context.size(other) for other in axes])
        context.tie_all(others(piece, axis), others(axes, axis))
        pieces.append(piece[axis])
    bind_pieces(context, axes[axis], pieces, equal=not sizes)


def bind_pieces(context: Context, whole: Dimension, pieces: list[Dimension], *, equal: bool) -> None:
    """Pieces one after the other make up the whole; equal ones stay equal, others are named one by one."""
    context.tie(whole, context.concat(pieces))
    if not equal:
        for position, piece in enumerate(pieces):
            context.name("split", position, [piece])
    elif len(sizes := {context.size(piece) for piece in pieces}) == 1 and None not in sizes:
        for piece in pieces[1:]:
            context.tie(pieces[0], piece)
    else:
        context.pin_all(pieces, "Split without listed sizes makes pieces of unequal or symbolic size")


class Limits(NamedTuple):
    """Limits of one sliced axis."""

    element: int
    start: int
    end: int
    step: int


def slice_(_node: Node, context: Context) -> None:
    """Pieces before, taken and after, along every sliced axis."""
    axes = context.need(0)
    starts, ends = context.stated("starts"), context.stated("ends")
    chosen = context.stated("axes", None if starts is None else tuple(range(len(starts))))
    steps = context.ints(4) if context.has(4) else (1,) * len(chosen or ())
    if chosen is None:
        raise NotFollowedError("the axes to slice are computed at run time")
    result = list(axes)
    for element, axis in enumerate(normalised(axis, len(axes)) for axis in chosen):
        if starts is None or ends is None or steps is None or not len(starts) == len(ends) == len(steps) == len(chosen):
            context.pin(axes[axis], "where to slice is computed at run time")
            result[axis] = context.fixed(None, "a slice with limits computed at run time")
        else:
            limits = Limits(element, starts[element], ends[element], steps[element])
            result[axis] = slice_axis(context, axes[axis], limits)
    context.output_as(0, result)


def slice_axis(context: Context, axis: Dimension, limits: Limits) -> Dimension:
    """What lies between the limits along one axis; the numbers that name them are inputs 1 and 2, or attributes."""
    size, start, end = context.size(axis), limits.start, limits.end
    if start == 0 and end >= TO_THE_END and limits.step == 1:
        return axis
    total = size or 0
    first = start + total if start < 0 else start
    last = end + total if end < 0 else min(end, total)
    if size is None or limits.step != 1 or not 0 <= first < last or size < end < TO_THE_END:
        context.pin(axis, f"sliced from {start} to {end} by {limits.step}, which is not followed")
        return context.fixed(None, "a slice of a locked axis")
    before, taken, after = cut(context, axis, first, last)
    if start:
        context.name("starts", limits.element, *_limit(start, before, [*taken, *after]))
    if end < TO_THE_END:
        context.name("ends", limits.element, *_limit(end, [*before, *taken], after))
    return taken[0]


def _limit(value: int, front: list[Dimension], back: list[Dimension]) -> tuple[list[Dimension], int]:
    """Parts that a limit counts, from the front or, where it is negative, from the back."""
    return (front, 1) if value >= 0 else (back, -1)


def cut(context: Context, axis: Dimension, first: int, last: int) -> tuple[list[Dimension], ...]:
    """Bind an axis of known size to what lies before, in and after `first:last`; an empty piece is an empty list."""
    total = context.size(axis) or 0
    sizes = (first, last - first, total - last)
    pieces = [Dimension(size) for size in sizes if size]
    if len(pieces) == 1:
        pieces = [axis]
    else:
        context.tie(axis, context.concat(pieces))
    ends = [0, *accumulate(bool(size) for size in sizes)]
    return tuple(pieces[ends[piece] : ends[piece + 1]] for piece in range(3))


def gather(node: Node, context: Context) -> None:
    """Constant consecutive indices take a piece of the axis. Other indices lock the axis."""
    if node.int("batch_dims"):
        raise NotFollowedError(f"{node.op_type} in batches")
    axes, index_axes = context.need(0), context.need(1)
    axis = normalised(node.int("axis", 0), len(axes))
    indices = context.ints(1)
    middle = list(index_axes)
    if len(index_axes) == 1 and indices and _is_run(context, indices, axes[axis]):
        before, middle, _ = cut(context, axes[axis], indices[0], indices[-1] + 1)
        context.tie(index_axes[0], middle[0])
        context.pin_all((*before, *middle), "Gather lists these indices one by one")
    else:
        context.pin(axes[axis], "elements are picked by index")
    context.output_as(0, [*axes[:axis], *middle, *axes[axis + 1 :]])


def _is_run(context: Context, indices: tuple[int, ...], axis: Dimension) -> bool:
    size = context.size(axis)
    return size is not None and indices[0] >= 0 and indices == tuple(range(indices[0], indices[0] + len(indices)))


def pad(_node: Node, context: Context) -> None:
    """Extend axes at both ends by fixed counts; lock the lanes unless the padding is constant."""
    axes = context.need(0)
    pads, chosen = context.stated("pads"), context.stated("axes", tuple(range(len(axes))))
    if "pairs" in context.roles.numbers:
        pairs = flat_ints(context, context.roles.numbers["pairs"].input)
        pads = None if pairs is None else pairs[::2] + pairs[1::2]
    if pads is None or chosen is None or len(pads) != 2 * len(chosen):
        raise NotFollowedError("how much is padded is computed at run time")
    result = list(axes)
    for element, axis in enumerate(normalised(axis, len(axes)) for axis in chosen):
        result[axis] = pad_axis(context, axes[axis], pads[element], pads[element + len(chosen)])
    context.output_as(0, result)


def pad_axis(context: Context, axis: Dimension, before: int, after: int) -> Dimension:
    """One axis between fixed counts of further elements."""
    if before == 0 and after == 0:
        return axis
    if before < 0 or after < 0 or context.node.text("mode", "constant") != "constant":
        context.pin(axis, "padded by its own elements or cut by Pad")
        size = context.size(axis)
        return context.fixed(None if size is None else size + before + after, "padding of a locked axis")
    ends = [context.fixed(count, "padding") if count else None for count in (before, after)]
    return context.concat(part for part in (ends[0], axis, ends[1]) if part is not None)


# Tie rules of TensorFlow Lite's operators that join axes, take pieces of them or grow them.


def counted_slice(_node: Node, context: Context) -> None:
    """SLICE: so many elements (input 2, -1 for all that are left) from a place on (input 1), along every axis."""
    axes, starts, counts = context.need(0), context.ints(1), context.ints(2)
    if starts is None or counts is None or not len(starts) == len(counts) == len(axes):
        raise NotFollowedError("where to slice is computed at run time")
    pieces = [_taken(context, axis, element, starts[element], counts[element]) for element, axis in enumerate(axes)]
    context.output_as(0, pieces)


def _taken(context: Context, axis: Dimension, element: int, start: int, count: int) -> Dimension:
    size = context.size(axis)
    end = size if count == -1 else start + count
    if size is None or end is None or not 0 <= start < end <= size:
        raise NotFollowedError(f"a slice of {count} elements from {start} on, out of {size}")
    before, taken, _after = cut(context, axis, start, end)
    if start:
        context.name_input(1, element, before)
    if count != -1:
        context.name_input(2, element, taken)
    return taken[0]


def strided_slice(node: Node, context: Context) -> None:
    """STRIDED_SLICE: begin, end and step of every axis; masks say which of them count."""
    axes = context.need(0)
    starts, ends, steps = context.ints(1), context.ints(2), context.ints(3)
    if starts is None or ends is None or steps is None or not len(starts) == len(ends) == len(steps):
        raise NotFollowedError("where to slice is computed at run time")
    if node.int("ellipsis_mask") or node.int("new_axis_mask") or node.int("offset") or len(starts) > len(axes):
        raise NotFollowedError("a slice with an ellipsis, a new axis or limits that count from the start")
    result = []
    for element, axis in enumerate(axes):
        if element >= len(starts):
            result.append(axis)
        elif node.int("shrink_axis_mask") >> element & 1:
            context.pin(axis, "one element of this axis is taken")
        else:
            start = 0 if node.int("begin_mask") >> element & 1 else starts[element]
            end = TO_THE_END if node.int("end_mask") >> element & 1 else ends[element]
            result.append(slice_axis(context, axis, Limits(element, start, end, steps[element])))
    context.output_as(0, result)


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


def reverse(_node: Node, context: Context) -> None:
    """REVERSE_V2: the axes that are turned round are locked."""
    axes, turned = context.need(0), context.ints(1)
    if turned is None:
        raise NotFollowedError("the axes to reverse are computed at run time")
    context.pin_all(
        (axes[normalised(axis, len(axes))] for axis in turned), "the elements along this axis change places"
    )
    context.output_as(0, axes)


# Operators that give the same bytes another shape, or put axes into another order.


def _renamed(name: str, axes: TieRule, layout: Layout = Layout.EITHER, **facets: Any) -> Operator:
    operator = Operator(
        name, axes, Elements.RENAMED, Risk.NONE, layout, new_lane=AS_READ, zero=(0,), movement=move_regroup
    )
    return replace(operator, **facets)


TRANSPOSE = _renamed(
    "Transpose",
    ties.transpose,
    Layout.ORDERED,
    elements=Elements.TRANSPOSED,
    movement=transpose,
    fold=fold_transpose,
)

AXES = Roles(numbers={"axes": Stated("axes", 1)})

SHAPING = (
    _renamed("Flatten", ties.flatten),
    _renamed("Reshape", ties.reshape, Layout.ORDERED, roles=Roles(sizes=(1,)), fold=fold_reshape),
    _renamed("Squeeze", ties.squeeze, roles=AXES, sizes=same_sizes, movement=move_ones, fold=fold_squeeze),
    TRANSPOSE,
    _renamed("Unsqueeze", ties.unsqueeze, roles=AXES, sizes=same_sizes, movement=move_ones, fold=fold_unsqueeze),
)


# Operators that join axes, or take pieces of them.


CONCAT = Operator(
    "Concat",
    concat,
    Elements.JOINED,
    Risk.NONE,
    Layout.EITHER,
    new_lane=AS_READ,
    roles=Roles(step=1),
    sizes=ties.joined_sizes,
    values=concat_values,
    demand=concat_demand,
    fold=fold_concat,
)
PAD = Operator(
    "Pad",
    pad,
    Elements.PADDED,
    Risk.NONE,
    Layout.EITHER,
    new_lane=AS_READ,
    zero=(0,),
    roles=Roles(numbers={"pads": Stated("pads", 1), "axes": Stated("axes", 3)}),
    values=pad_values,
    demand=pad_demand,
)


def _piece(name: str, axes: TieRule, movement: Movement, sizes: SizeRule | NotFollowed = COMPUTES) -> Operator:
    operator = Operator(name, axes, Elements.MOVED, Risk.NONE, Layout.EITHER, new_lane=AS_READ)
    return replace(operator, zero=(0,), sizes=sizes, movement=movement)


GATHER = replace(_piece("Gather", gather, move_gather, ties.gathered_sizes), fold=fold_gather)
LIMITS = Roles(numbers={name: Stated(name, at) for at, name in enumerate(("starts", "ends", "axes", "steps"), 1)})
SLICE = replace(_piece("Slice", slice_, move_slice, ties.sliced_sizes), roles=LIMITS, fold=fold_slice)
SPLIT = replace(_piece("Split", split, move_split), roles=Roles(numbers={"split": Stated("split", 1)}))

SLICING = (
    CONCAT,
    GATHER,
    SLICE,
    SPLIT,
    PAD,
)
