"""How TensorFlow Lite's operators move elements without changing them."""

from __future__ import annotations

import numpy as np

from onnxlint_cmsis.operators.moves import Move, Passage, chain, sliced


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
