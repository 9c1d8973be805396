"""How operators move elements without changing them: the way there for intervals, and the way back for masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.regrouping import MAX_CELLS, put, regrouped, taken
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.values.value_view import ValueView, has

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.regrouping import Array
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.types import Size


class Move(NamedTuple):
    """One node's way of moving elements."""

    forward: Callable[[Array], Array]
    """Output from input."""
    backward: Callable[[Array], Array]
    """Mask of the input from a mask of the output."""


class Passage(NamedTuple):
    """One node between the input whose elements it moves and one of its outputs."""

    node: Node
    """The node."""
    view: ValueView
    """Shapes and constants."""
    before: tuple[Size, ...]
    """Shape of the input."""
    after: tuple[Size, ...]
    """Shape of the output."""
    position: int = 0
    """Which output."""


def passage(node: Node, view: ValueView, position: int = 0) -> Passage | None:
    """A node between its data and an output; None where a rank is unknown or an array would get too large."""
    before, after = view.input_shape(node, moved_input(node, view)), view.shape(node.outputs[position])
    if before is None or after is None or max((size or 1 for size in (*before, *after)), default=1) > MAX_CELLS:
        return None
    return Passage(node, view, before, after, position)


def moved_input(node: Node, view: ValueView) -> int:
    """Input whose elements a node moves."""
    data = view.roles(node).data
    return data[0] if data else 0


def regroup(way: Passage) -> Move | None:
    """Reshape and its like."""
    before, after = way.before, way.after
    if regrouped(np.broadcast_to(np.bool_(True), [size or 1 for size in before]), before, after) is None:
        return None
    return Move(
        lambda array: _sure(regrouped(array, before, after)), lambda mask: _sure(regrouped(mask, after, before))
    )


def _sure(array: Array | None) -> Array:
    if array is None:
        raise ValueError("the regrouped array would be too large")
    return array


def transpose(way: Passage) -> Move | None:
    """Axes in another order."""
    order = way.node.permutation(len(way.before))
    return None if order is None else ordered(order)


def ordered(order: tuple[int, ...]) -> Move:
    """Axes in a given order."""
    return Move(lambda array: array.transpose(order), lambda mask: mask.transpose(np.argsort(order)))


def _pick(axis: int, indices: Array, size: int) -> Move:
    return Move(lambda array: taken(array, axis, indices), lambda mask: put(mask, axis, indices, size))


def chain(*moves: Move | None) -> Move | None:
    """One after the other; None where one of them is."""
    found = [move for move in moves if move is not None]

    def forward(array: Array) -> Array:
        for move in found:
            array = move.forward(array)
        return array

    def backward(mask: Array) -> Array:
        for move in reversed(found):
            mask = move.backward(mask)
        return mask

    return Move(forward, backward) if len(found) == len(moves) else None


def slice_(way: Passage) -> Move | None:
    """Elements at steps between limits."""
    node, view = way.node, way.view
    starts, ends = view.ints(node, "starts", 1), view.ints(node, "ends", 2)
    if starts is None or ends is None:
        return None
    axes = view.ints(node, "axes", 3) if has(node, 3) or "axes" in node.attributes else list(range(len(starts)))
    steps = view.ints(node, "steps", 4) if has(node, 4) else [1] * len(starts)
    if axes is None or steps is None or not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    limits = zip(starts, ends, axes, steps, strict=True)
    return chain(*(sliced(way.before, axis, slice(start, end, step)) for start, end, axis, step in limits))


def sliced(before: tuple[Size, ...], axis: int, limits: slice) -> Move | None:
    """Elements between limits of one axis."""
    size = before[axis] if -len(before) <= axis < len(before) else None
    return None if size is None else _pick(axis % len(before), np.arange(size)[limits], size)


def split(way: Passage) -> Move | None:
    """One of several pieces along an axis."""
    axis = way.node.int("axis", 0)
    shapes = [way.view.shape(name) for name in way.node.outputs[: way.position + 1]]
    if not -len(way.before) <= axis < len(way.before):
        return None
    lengths = [None if shape is None or len(shape) != len(way.before) else shape[axis] for shape in shapes]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return None
    return sliced(way.before, axis, slice(sum(known[:-1]), sum(known)))


def gather(way: Passage) -> Move | None:
    """Elements at fixed indices of an axis."""
    before, axis = way.before, way.node.int("axis", 0)
    indices = way.view.ints(way.node, "", 1)
    size = before[axis] if -len(before) <= axis < len(before) else None
    if indices is None or size is None or not all(-size <= index < size for index in indices):
        return None
    axis %= len(before)
    middle = (*before[:axis], len(indices), *before[axis + 1 :])
    picked = _pick(axis, np.array(indices, int) % size, size)
    return chain(picked, regroup(way._replace(before=middle)))


def depth_to_space(way: Passage) -> Move | None:
    """Blocks of channels laid out on the plane."""
    block = way.node.int("blocksize")
    sizes = [size or 0 for size in way.before]
    if len(sizes) != 4 or None in way.before or block < 1 or sizes[1] % (block * block):
        return None
    batch, inner, plane = sizes[0], sizes[1] // (block * block), sizes[2:]
    if way.node.text("mode", "DCR") == "CRD":
        return three(way, (batch, inner, block, block, *plane), (0, 1, 4, 2, 5, 3))
    return three(way, (batch, block, block, inner, *plane), (0, 3, 4, 1, 5, 2))


def space_to_depth(way: Passage) -> Move | None:
    """Blocks of the plane put into channels."""
    block = way.node.int("blocksize")
    if len(way.before) != 4 or None in way.before or block < 1:
        return None
    batch, channels, height, width = (size or 0 for size in way.before)
    return three(way, (batch, channels, height // block, block, width // block, block), (0, 3, 5, 1, 2, 4))


def three(way: Passage, split: tuple[int, ...], order: tuple[int, ...]) -> Move | None:
    """Regroup, transpose, regroup."""
    turned = tuple(split[axis] for axis in order)
    return chain(regroup(way._replace(after=split)), ordered(order), regroup(way._replace(before=turned)))


Movement = Callable[[Passage], "Move | None"]
"""How a node moves its data to an output; None where that cannot be followed."""
