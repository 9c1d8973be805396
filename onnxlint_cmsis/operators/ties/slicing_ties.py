"""Tie rules of operators that join axes or take pieces of them."""

from __future__ import annotations

from itertools import accumulate

from onnxlint_cmsis.algebra.context import Axes, Context, NotFollowedError
from onnxlint_cmsis.algebra.variables import Dimension
from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.ties.shaping_ties import normalised
from onnxlint_cmsis.types import Size

TO_THE_END = 2**31 - 1
"""Limits from here on mean the end of the axis, as exporters write it."""


def concat(node: Node, context: Context) -> None:
    """The axis of the result holds the inputs' axes in order."""
    operands = [context.need(position) for position in range(len(node.inputs)) if context.has(position)]
    join(context, operands, node.int("axis", 1))


def join(context: Context, operands: list[Axes], along: int) -> None:
    """Concatenate operands along an axis; all other axes are tied."""
    if len({len(axes) for axes in operands}) != 1:
        raise NotFollowedError("the inputs of Concat differ in rank")
    axis = normalised(along, len(operands[0]))
    for axes in operands[1:]:
        context.tie_all((one for place, one in enumerate(axes) if place != axis), others(operands[0], axis))
    made = list(operands[0])
    made[axis] = context.concat(axes[axis] for axes in operands)
    context.tie_all(context.output(0, [context.size(one) for one in made]), made)


def others(axes: Axes, axis: int) -> list[Dimension]:
    """All axes but one."""
    return [one for place, one in enumerate(axes) if place != axis]


def split(node: Node, context: Context) -> None:
    """The axis of the input holds the outputs' axes in order; without listed sizes all pieces stay equal."""
    axes = context.need(0)
    axis = normalised(node.int("axis", 0), len(axes))
    total = context.size(axes[axis])
    listed = context.has(1) or "split" in node.attributes
    sizes = context.ints_of("split", 1)
    if listed and (sizes is None or len(sizes) != len(node.outputs)):
        raise NotFollowedError("the sizes of the pieces are not known")
    count = len(node.outputs)
    shares = sizes or ([total // count] * count if total is not None and total % count == 0 else [None] * count)
    pieces = []
    for position, share in enumerate(shares):
        piece = context.output(position, [share if one is axes[axis] else context.size(one) for one in axes])
        context.tie_all(others(piece, axis), others(axes, axis))
        pieces.append(piece[axis])
    bind_pieces(context, axes[axis], pieces, equal=not listed)


def bind_pieces(context: Context, whole: Dimension, pieces: list[Dimension], *, equal: bool) -> None:
    """Pieces one after the other make up the whole; equal ones stay equal, others are named one by one."""
    context.tie(whole, context.concat(pieces))
    if not equal:
        for position, piece in enumerate(pieces):
            context.name(("split", 1), position, [piece])
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
    starts, ends = context.ints_of("starts", 1), context.ints_of("ends", 2)
    chosen = context.ints_of("axes", 3, None if starts is None else tuple(range(len(starts))))
    steps = context.ints(4) if context.has(4) else (1,) * len(chosen or ())
    if chosen is None:
        raise NotFollowedError("the axes to slice are computed at run time")
    made = list(axes)
    for element, axis in enumerate(normalised(axis, len(axes)) for axis in chosen):
        if starts is None or ends is None or steps is None or not len(starts) == len(ends) == len(steps) == len(chosen):
            context.pin(axes[axis], "where to slice is computed at run time")
            made[axis] = context.fixed(None, "a slice with limits computed at run time")
        else:
            limits = Limits(element, starts[element], ends[element], steps[element])
            made[axis] = slice_axis(context, axes[axis], limits)
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)


def slice_axis(context: Context, axis: Dimension, limits: Limits) -> Dimension:
    """What lies between the limits along one axis; the numbers that name them are inputs 1 and 2, or attributes."""
    size, start, end = context.size(axis), limits.start, limits.end
    if start == 0 and end >= TO_THE_END and limits.step == 1:
        return axis
    first, last = _range(size, limits)
    if size is None or limits.step != 1 or not 0 <= first < last or size < end < TO_THE_END:
        context.pin(axis, f"sliced from {start} to {end} by {limits.step}, which is not followed")
        return context.fixed(None, "a slice of a locked axis")
    before, taken, after = cut(context, axis, first, last)
    if start:
        context.name(("starts", 1), limits.element, *_limit(start, before, [*taken, *after]))
    if end < TO_THE_END:
        context.name(("ends", 2), limits.element, *_limit(end, [*before, *taken], after))
    return taken[0]


def _range(size: Size, limits: Limits) -> tuple[int, int]:
    """First element and the one after the last, counted from the front."""
    total = size or 0
    first = limits.start + total if limits.start < 0 else limits.start
    return first, limits.end + total if limits.end < 0 else min(limits.end, total)


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
    return tuple(pieces[ends[place] : ends[place + 1]] for place in range(3))


def gather(node: Node, context: Context) -> None:
    """Constant consecutive indices take a piece of the axis; any others fix where its elements are."""
    axes, places = context.need(0), context.need(1)
    axis = normalised(node.int("axis", 0), len(axes))
    indices = context.ints(1)
    middle = list(places)
    if len(places) == 1 and indices and _is_run(context, indices, axes[axis]):
        before, middle, _ = cut(context, axes[axis], indices[0], indices[-1] + 1)
        context.tie(places[0], middle[0])
        context.pin_all((*before, *middle), "Gather lists these indices one by one")
    else:
        context.pin(axes[axis], "elements are picked by index")
    made = [*axes[:axis], *middle, *axes[axis + 1 :]]
    context.tie_all(context.output(0, [context.size(one) for one in made]), made)


def _is_run(context: Context, indices: tuple[int, ...], axis: Dimension) -> bool:
    size = context.size(axis)
    return size is not None and indices[0] >= 0 and indices == tuple(range(indices[0], indices[0] + len(indices)))


def pad(_node: Node, context: Context) -> None:
    """Extend axes at both ends by fixed counts; lock the lanes unless the padding is constant."""
    axes = context.need(0)
    pads = context.ints_of("pads", 1)
    chosen = context.ints(3) if context.has(3) else tuple(range(len(axes)))
    if pads is None or chosen is None or len(pads) != 2 * len(chosen):
        raise NotFollowedError("how much is padded is computed at run time")
    made = list(axes)
    for place, axis in enumerate(normalised(axis, len(axes)) for axis in chosen):
        made[axis] = pad_axis(context, axes[axis], pads[place], pads[place + len(chosen)])
    context.tie_all(context.output(0, [context.size(axis) for axis in made]), made)


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
