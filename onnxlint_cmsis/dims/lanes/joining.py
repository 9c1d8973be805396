"""Values through operators that put tensors together, or grow one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.facts import Facts, has, real_attribute
from onnxlint_cmsis.dims.lanes.known import Known
from onnxlint_cmsis.dims.lanes.quantized import real_input, requantized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxlint_cmsis.dims.lanes.elementwise import Forward
    from onnxlint_cmsis.dims.lanes.known import Floats
    from onnxlint_cmsis.graph.model import Node


def parts_of(node: Node) -> list[int]:
    """Inputs that hold the parts of a concatenation."""
    places = range(2, len(node.inputs), 3) if node.op_type == "QLinearConcat" else range(len(node.inputs))
    return [place for place in places if has(node, place)]


def lengths_of(node: Node, facts: Facts) -> tuple[int, list[int]] | None:
    """Axis of a concatenation from the front, and the length of each part along it; None where not known."""
    shapes = [facts.shape(node.inputs[place]) for place in parts_of(node)]
    ranks = {None if shape is None else len(shape) for shape in shapes}
    rank = ranks.pop()
    axis = node.int("axis", 1)
    if ranks or rank is None or not -rank <= axis < rank:
        return None
    lengths = [None if shape is None else shape[axis] for shape in shapes]
    known = [length for length in lengths if length is not None]
    return (axis % rank, known) if len(known) == len(lengths) else None


def concat(node: Node, facts: Facts) -> Known | None:
    """Parts one after the other."""
    return _joined([facts.input(node, place) for place in parts_of(node)], lengths_of(node, facts))


def qlinear_concat(node: Node, facts: Facts) -> Known | None:
    """Parts in the steps of the result."""
    parts = [_part(node, facts, place) for place in parts_of(node)]
    return _joined(parts, lengths_of(node, facts))


def _part(node: Node, facts: Facts, place: int) -> Known | None:
    same = all(facts.scalar(node, one, 0.0) == facts.scalar(node, place + 1 + one, 0.0) for one in (0, 1))
    real = real_input(node, facts, place)
    if same or real is None:
        return facts.input(node, place)
    made = requantized(real, node, facts, 0)
    return made if made is not None else real.only(np.zeros((1,) * real.low.ndim, bool))


def _joined(parts: Sequence[Known | None], where: tuple[int, list[int]] | None) -> Known | None:
    known = [part for part in parts if part is not None]
    if where is None or len(known) < len(parts):
        return None
    low = _side([part.low for part in known], *where)
    exact = all(part.low is part.high for part in known)
    return Known(low, low if exact else _side([part.high for part in known], *where))


def _side(bounds: Sequence[Floats], axis: int, lengths: Sequence[int]) -> Floats:
    common = np.broadcast_shapes(*((*bound.shape[:axis], 1, *bound.shape[axis + 1 :]) for bound in bounds))
    spread = [
        np.broadcast_to(bound, (*common[:axis], length, *common[axis + 1 :]))
        for bound, length in zip(bounds, lengths, strict=True)
    ]
    return np.concatenate(spread, axis=axis)


def pads_of(node: Node, facts: Facts) -> list[tuple[int, int]] | None:
    """Elements that Pad adds before and after each axis; None where they are not known or elements are cut."""
    shape, pads = facts.shape(node.inputs[0]) if has(node, 0) else None, facts.ints(node, "pads", 1)
    if shape is None or pads is None:
        return None
    axes = facts.ints(node, "", 3) if has(node, 3) else list(range(len(shape)))
    if axes is None or len(pads) != 2 * len(axes) or min(pads, default=0) < 0:
        return None
    found = [(0, 0)] * len(shape)
    for place, axis in enumerate(axes):
        if not -len(shape) <= axis < len(shape):
            return None
        found[axis % len(shape)] = pads[place], pads[place + len(axes)]
    return found


def pad(node: Node, facts: Facts) -> Known | None:
    """A constant around; along an axis that is not spread out, only what equals the constant stays one value."""
    known, pads = facts.input(node, 0), pads_of(node, facts)
    value = facts.scalar(node, 2, real_attribute(node, "value", 0.0))
    shape = facts.shape(node.inputs[0])
    if known is None or pads is None or shape is None or node.text("mode", "constant") != "constant":
        return None
    for axis, (before, after) in enumerate(pads):
        if not before and not after:
            continue
        if known.low.shape[axis] == shape[axis]:
            around = [(before, after) if place == axis else (0, 0) for place in range(len(shape))]
            known = known.map(lambda bound, around=around: np.pad(bound, around, constant_values=value))  # type: ignore[misc]
        else:
            known = known.only((known.low == value) & (known.high == value))
    return known


def expand(node: Node, facts: Facts) -> Known | None:
    """Repeated along axes of size 1."""
    known, shape = facts.input(node, 0), facts.shape(node.outputs[0])
    if known is None or shape is None or len(shape) < known.low.ndim:
        return None
    return known.map(lambda bound: bound.reshape((1,) * (len(shape) - bound.ndim) + bound.shape))


FORWARD: dict[tuple[str, str], Forward] = {
    ("", "Concat"): concat,
    ("", "Expand"): expand,
    ("", "Pad"): pad,
    ("com.microsoft", "QLinearConcat"): qlinear_concat,
}
"""Operators that put together or grow, by domain and operator."""
