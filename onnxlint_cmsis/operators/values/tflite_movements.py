"""How TensorFlow Lite's operators move elements without changing them."""

from __future__ import annotations

import numpy as np

from onnxlint_cmsis.operators.values.movements import Move, Passage, chain, ordered, sliced, three


def transpose(way: Passage) -> Move | None:
    """Axes in the order of input 1."""
    order = way.view.ints(way.node, "", 1)
    known = order is not None and sorted(order) == list(range(len(way.before)))
    return ordered(tuple(order)) if known and order is not None else None


def slice_(way: Passage) -> Move | None:
    """So many elements (input 2) from a place on (input 1)."""
    starts, counts = way.view.ints(way.node, "", 1), way.view.ints(way.node, "", 2)
    if starts is None or counts is None or not len(starts) == len(counts) == len(way.before):
        return None
    limits = [slice(start, None if count == -1 else start + count) for start, count in zip(starts, counts, strict=True)]
    return chain(*(sliced(way.before, axis, limit) for axis, limit in enumerate(limits)))


def strided_slice(way: Passage) -> Move | None:
    """Elements at steps between limits; an axis of which one element is taken goes."""
    node, view = way.node, way.view
    starts, ends, steps = (view.ints(node, "", place) for place in (1, 2, 3))
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


def split(way: Passage) -> Move | None:
    """One of several pieces along the axis that an input names: the first of SPLIT, the third of SPLIT_V."""
    axes = way.view.ints(way.node, "", 2 if way.view.roles(way.node).data == (0,) else 0)
    if axes is None or len(axes) != 1 or not -len(way.before) <= axes[0] < len(way.before):
        return None
    shapes = [way.view.shape(name) for name in way.node.outputs[: way.position + 1]]
    lengths = [shape[axes[0]] for shape in shapes if shape is not None and len(shape) == len(way.before)]
    known = [length for length in lengths if length is not None]
    if len(known) < len(shapes):
        return None
    return sliced(way.before, axes[0], slice(sum(known[:-1]), sum(known)))


def reverse(way: Passage) -> Move | None:
    """Listed axes the other way round."""
    axes = way.view.ints(way.node, "", 1)
    if axes is None or not all(-len(way.before) <= axis < len(way.before) for axis in axes):
        return None
    turned = tuple(sorted({axis % len(way.before) for axis in axes}))
    return Move(lambda array: np.flip(array, turned), lambda mask: np.flip(mask, turned))


def depth_to_space(way: Passage) -> Move | None:
    """Blocks of channels laid out on the plane."""
    block, sizes = way.node.int("block_size"), [size or 0 for size in way.before]
    if len(sizes) != 4 or None in way.before or block < 1 or sizes[3] % (block * block):
        return None
    return three(way, (*sizes[:3], block, block, sizes[3] // (block * block)), (0, 1, 3, 2, 4, 5))


def space_to_depth(way: Passage) -> Move | None:
    """Blocks of the plane put into channels."""
    block, sizes = way.node.int("block_size"), [size or 0 for size in way.before]
    if len(sizes) != 4 or None in way.before or block < 1 or sizes[1] % block or sizes[2] % block:
        return None
    batch, height, width, channels = sizes
    return three(way, (batch, height // block, block, width // block, block, channels), (0, 1, 3, 2, 4, 5))
