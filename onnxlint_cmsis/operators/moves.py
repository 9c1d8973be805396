"""How operators move elements without changing them: the way there for intervals, and the way back for masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.regrouping import MAX_CELLS, put, regrouped, taken
from onnxlint_cmsis.operators.folds import takes_whole_axis

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Array
    from onnxlint_cmsis.operators.views import NodeView


class Move(NamedTuple):
    """One node's way of moving elements."""

    forward: Callable[[Array], Array]
    """Output from input."""
    backward: Callable[[Array], Array]
    """Mask of the input from a mask of the output."""


class Passage(NamedTuple):
    """A node that moves the elements of an input to one of its outputs."""

    node: Node
    """The node."""
    view: NodeView
    """Shapes and constants."""
    before: tuple[Size, ...]
    """Shape of the input."""
    after: tuple[Size, ...]
    """Shape of the output."""
    ahead: tuple[Size, ...] = ()
    """What the outputs in front of it have along each axis; None where that is not known."""


def passages(node: Node, view: NodeView) -> Iterator[Passage | None]:
    """A node between its data and each output; None where a rank is unknown or an array would get too large."""
    before = view.input_shape(node, moved_input(node, view))
    ahead: tuple[Size, ...] = (0,) * len(before or ())
    for name in node.outputs:
        after = view.shape(name)
        if before is None or after is None or max((size or 1 for size in (*before, *after)), default=1) > MAX_CELLS:
            yield None
        else:
            yield Passage(node, view, before, after, ahead)
        sizes = after if after is not None and len(after) == len(ahead) else (None,) * len(ahead)
        known = zip(ahead, sizes, strict=True)
        ahead = tuple(None if start is None or size is None else start + size for start, size in known)


def moved_input(node: Node, view: NodeView) -> int:
    """Input whose elements a node moves."""
    data = view.roles(node).data
    return data[0] if data else 0


def move_regroup(way: Passage) -> Move | None:
    """Reshape and its like."""
    before, after = way.before, way.after
    if regrouped(np.broadcast_to(np.bool_(True), [size or 1 for size in before]), before, after) is None:
        return None
    return Move(
        lambda array: _sure(regrouped(array, before, after)), lambda mask: _sure(regrouped(mask, after, before))
    )


def move_ones(way: Passage) -> Move | None:
    """Squeeze and Unsqueeze: axes of size 1 go or come; None where those that the node names are not they."""
    shorter, longer = sorted((way.before, way.after), key=len)
    axes = way.view.stated(way.node, "axes", ())
    if axes is None or not all(-len(longer) <= axis < len(longer) for axis in axes):
        return None
    named = {axis % len(longer) for axis in axes} or {axis for axis, size in enumerate(longer) if size == 1}
    rest = tuple(size for axis, size in enumerate(longer) if axis not in named)
    return move_regroup(way) if shorter == rest else None


def _sure(array: Array | None) -> Array:
    if array is None:
        raise ValueError("the regrouped array would be too large")
    return array


def transpose(way: Passage) -> Move | None:
    """Axes in another order."""
    order = way.view.stated(way.node, "perm", range(len(way.before) - 1, -1, -1))
    return ordered(tuple(order)) if order and sorted(order) == [*range(len(way.before))] else None


def ordered(order: tuple[int, ...]) -> Move:
    """Axes in a given order."""
    return Move(lambda array: array.transpose(order), lambda mask: mask.transpose(np.argsort(order)))


def _pick(axis: int, indices: Array, size: int) -> Move:
    return Move(lambda array: taken(array, axis, indices), lambda mask: put(mask, axis, indices, size))


def chain(*moves: Move | None) -> Move | None:
    """Moves one after the other; None where one of them is None."""
    known = [move for move in moves if move is not None]

    def forward(array: Array) -> Array:
        for move in known:
            array = move.forward(array)
        return array

    def backward(mask: Array) -> Array:
        for move in reversed(known):
            mask = move.backward(mask)
        return mask

    return Move(forward, backward) if len(known) == len(moves) else None


def move_slice(way: Passage) -> Move | None:
    """Elements at steps between limits."""
    node, view = way.node, way.view
    starts, ends = view.stated(node, "starts"), view.stated(node, "ends")
    if starts is None or ends is None:
        return None
    axes = view.stated(node, "axes", range(len(starts)))
    steps = view.stated(node, "steps", [1] * len(starts))
    if axes is None or steps is None or not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    if takes_whole_axis(ends, steps):
        return None
    limits = zip(starts, ends, axes, steps, strict=True)
    return chain(*(sliced(way.before, axis, slice(start, end, step)) for start, end, axis, step in limits))


def sliced(before: tuple[Size, ...], axis: int, limits: slice) -> Move | None:
    """Elements between limits of one axis."""
    size = before[axis] if -len(before) <= axis < len(before) else None
    return None if size is None else _pick(axis % len(before), np.arange(size)[limits], size)


def move_split(way: Passage) -> Move | None:
    """One of several pieces along an axis."""
    along = way.view.stated(way.node, "axis", (0,))
    if along is None or len(along) != 1 or not -len(way.before) <= along[0] < len(way.before):
        return None
    start, size = way.ahead[along[0]], way.after[along[0]] if len(way.after) == len(way.before) else None
    return None if start is None or size is None else sliced(way.before, along[0], slice(start, start + size))


def move_gather(way: Passage) -> Move | None:
    """Elements at fixed indices of an axis."""
    before, axis = way.before, way.node.int("axis", 0)
    indices = way.view.ints(way.node, 1)
    size = before[axis] if -len(before) <= axis < len(before) else None
    if indices is None or size is None or not all(-size <= index < size for index in indices):
        return None
    axis %= len(before)
    middle = (*before[:axis], len(indices), *before[axis + 1 :])
    picked = _pick(axis, np.array(indices, int) % size, size)
    return chain(picked, move_regroup(way._replace(before=middle)))


def move_depth_to_space(way: Passage) -> Move | None:
    """Blocks of channels laid out on the plane."""
    roles, sizes = way.view.roles(way.node), [size or 0 for size in way.before]
    block = roles.number(way.node, "blocksize")
    if len(sizes) != 4 or None in way.before or block < 1 or sizes[roles.channels(4)] % (block * block):
        return None
    inner = sizes[roles.channels(4)] // (block * block)
    if roles.channels_last:
        return three(way, (*sizes[:3], block, block, inner), (0, 1, 3, 2, 4, 5))
    batch, _, *plane = sizes
    if way.node.text("mode", "DCR") == "CRD":
        return three(way, (batch, inner, block, block, *plane), (0, 1, 4, 2, 5, 3))
    return three(way, (batch, block, block, inner, *plane), (0, 3, 4, 1, 5, 2))


def move_space_to_depth(way: Passage) -> Move | None:
    """Blocks of the plane put into channels."""
    roles, sizes = way.view.roles(way.node), [size or 0 for size in way.before]
    block = roles.number(way.node, "blocksize")
    if len(sizes) != 4 or None in way.before or block < 1 or any(sizes[axis] % block for axis in roles.plane(4)):
        return None
    height, width = (sizes[axis] // block for axis in roles.plane(4))
    batch, channels = sizes[0], sizes[roles.channels(4)]
    if roles.channels_last:
        return three(way, (batch, height, block, width, block, channels), (0, 1, 3, 2, 4, 5))
    return three(way, (batch, channels, height, block, width, block), (0, 3, 5, 1, 2, 4))


def three(way: Passage, split: tuple[int, ...], order: tuple[int, ...]) -> Move | None:
    """Regroup, transpose, regroup."""
    turned = tuple(split[axis] for axis in order)
    return chain(move_regroup(way._replace(after=split)), ordered(order), move_regroup(way._replace(before=turned)))


Movement = Callable[[Passage], "Move | None"]
"""How a node moves its data to an output; None where that cannot be followed."""
