"""Operators that move elements without changing them: the way there for values, and the way back for masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onnxlint_cmsis.algebra.regrouping import put, regrouped, taken
from onnxlint_cmsis.dims.lanes.facts import Facts, has

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
    """One node between its first input and one of its outputs."""

    node: Node
    """The node."""
    facts: Facts
    """Shapes and constants."""
    before: tuple[Size, ...]
    """Shape of the input."""
    after: tuple[Size, ...]
    """Shape of the output."""
    position: int = 0
    """Which output."""


def move_of(node: Node, facts: Facts, position: int = 0) -> Move | None:
    """How a node moves its first input to an output; None where it is none of these or cannot be followed."""
    rule = MOVES.get(node.op_type) if node.domain == "" else None
    before = facts.shape(node.inputs[0]) if has(node, 0) else None
    after = facts.shape(node.outputs[position])
    if rule is None or before is None or after is None:
        return None
    return rule(Passage(node, facts, before, after, position))


def regroup(way: Passage) -> Move | None:
    """Reshape and its like."""
    before, after = way.before, way.after
    if regrouped(np.broadcast_to(np.bool_(True), [size or 1 for size in before]), before, after) is None:
        return None
    return Move(
        lambda array: _sure(regrouped(array, before, after)), lambda mask: _sure(regrouped(mask, after, before))
    )


def _sure(array: Array | None) -> Array:
    assert array is not None, "tried with every axis spread out"
    return array


def _transpose(way: Passage) -> Move | None:
    order = way.node.ints("perm") or tuple(reversed(range(len(way.before))))
    return _ordered(order) if sorted(order) == list(range(len(way.before))) else None


def _ordered(order: tuple[int, ...]) -> Move:
    return Move(lambda array: array.transpose(order), lambda mask: mask.transpose(np.argsort(order)))


def _pick(axis: int, indices: Array, size: int) -> Move:
    return Move(lambda array: taken(array, axis, indices), lambda mask: put(mask, axis, indices, size))


def _chain(*moves: Move | None) -> Move | None:
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


def _slice(way: Passage) -> Move | None:
    node, facts = way.node, way.facts
    starts, ends = facts.ints(node, "starts", 1), facts.ints(node, "ends", 2)
    if starts is None or ends is None:
        return None
    axes = facts.ints(node, "axes", 3) if has(node, 3) or "axes" in node.attributes else list(range(len(starts)))
    steps = facts.ints(node, "steps", 4) if has(node, 4) else [1] * len(starts)
    if axes is None or steps is None or not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        return None
    limits = zip(starts, ends, axes, steps, strict=True)
    return _chain(*(_sliced(way.before, axis, slice(start, end, step)) for start, end, axis, step in limits))


def _sliced(before: tuple[Size, ...], axis: int, limits: slice) -> Move | None:
    size = before[axis] if -len(before) <= axis < len(before) else None
    return None if size is None else _pick(axis % len(before), np.arange(size)[limits], size)


def _split(way: Passage) -> Move | None:
    axis = way.node.int("axis", 0)
    shapes = [way.facts.shape(name) for name in way.node.outputs[: way.position + 1]]
    if not -len(way.before) <= axis < len(way.before):
        return None
    lengths = [None if shape is None or len(shape) != len(way.before) else shape[axis] for shape in shapes]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        return None
    return _sliced(way.before, axis, slice(sum(known[:-1]), sum(known)))


def _gather(way: Passage) -> Move | None:
    before, axis = way.before, way.node.int("axis", 0)
    indices = way.facts.ints(way.node, "", 1)
    size = before[axis] if -len(before) <= axis < len(before) else None
    if indices is None or size is None or not all(-size <= index < size for index in indices):
        return None
    axis %= len(before)
    middle = (*before[:axis], len(indices), *before[axis + 1 :])
    picked = _pick(axis, np.array(indices, int) % size, size)
    return _chain(picked, regroup(way._replace(before=middle)))


def _depth_to_space(way: Passage) -> Move | None:
    block = way.node.int("blocksize")
    sizes = [size or 0 for size in way.before]
    if len(sizes) != 4 or None in way.before or block < 1 or sizes[1] % (block * block):
        return None
    batch, inner, plane = sizes[0], sizes[1] // (block * block), sizes[2:]
    if way.node.text("mode", "DCR") == "CRD":
        return _three(way, (batch, inner, block, block, *plane), (0, 1, 4, 2, 5, 3))
    return _three(way, (batch, block, block, inner, *plane), (0, 3, 4, 1, 5, 2))


def _space_to_depth(way: Passage) -> Move | None:
    block = way.node.int("blocksize")
    if len(way.before) != 4 or None in way.before or block < 1:
        return None
    batch, channels, height, width = (size or 0 for size in way.before)
    return _three(way, (batch, channels, height // block, block, width // block, block), (0, 3, 5, 1, 2, 4))


def _three(way: Passage, split: tuple[int, ...], order: tuple[int, ...]) -> Move | None:
    """Regroup, transpose, regroup."""
    turned = tuple(split[axis] for axis in order)
    return _chain(regroup(way._replace(after=split)), _ordered(order), regroup(way._replace(before=turned)))


MOVES: dict[str, Callable[[Passage], Move | None]] = {
    "DepthToSpace": _depth_to_space,
    "Flatten": regroup,
    "Gather": _gather,
    "Reshape": regroup,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": regroup,
    "Transpose": _transpose,
    "Unsqueeze": regroup,
}
"""Operators of which each output holds elements of the first input, and nothing else."""
