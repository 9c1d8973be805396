"""Operators that join axes, or take pieces of them: how they tie axes, and their records."""

from __future__ import annotations

from itertools import accumulate

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Roles, Stated
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError
from onnxlint_cmsis.model.variables import Dimension
from onnxlint_cmsis.operators import size_rules as sizes_of
from onnxlint_cmsis.operators.answers import Elements, Layout, NotFollowed, Risk
from onnxlint_cmsis.operators.demands import concat_demand, pad_demand
from onnxlint_cmsis.operators.folds import fold_concat, fold_gather, fold_slice
from onnxlint_cmsis.operators.joined_values import concat_values, pad_values
from onnxlint_cmsis.operators.moves import Movement, move_gather, move_slice, move_split
from onnxlint_cmsis.operators.new_lane import AS_READ
from onnxlint_cmsis.operators.record import COMPUTES, Operator, SizeRule, TieRule, replace
from onnxlint_cmsis.operators.regroup_ties import normalised

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


def flat_ints(context: Context, position: int) -> tuple[int, ...] | None:
    """Numbers of a constant of any rank, in order; None where it is none."""
    constant = context.graph.constants.get(context.node.inputs[position]) if context.has(position) else None
    return None if constant is None else constant.integers()


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


CONCAT = Operator(
    "Concat",
    concat,
    Elements.JOINED,
    Risk.NONE,
    Layout.EITHER,
    new_lane=AS_READ,
    roles=Roles(step=1),
    sizes=sizes_of.joined_sizes,
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


GATHER = replace(_piece("Gather", gather, move_gather, sizes_of.gathered_sizes), fold=fold_gather)
LIMITS = Roles(numbers={name: Stated(name, at) for at, name in enumerate(("starts", "ends", "axes", "steps"), 1)})
SLICE = replace(_piece("Slice", slice_, move_slice, sizes_of.sliced_sizes), roles=LIMITS, fold=fold_slice)
SPLIT = replace(_piece("Split", split, move_split), roles=Roles(numbers={"split": Stated("split", 1)}))

SLICING = (
    CONCAT,
    GATHER,
    SLICE,
    SPLIT,
    PAD,
)
