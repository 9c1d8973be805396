"""One pass backward: which elements of every tensor somebody may need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.regrouping import regrouped
from onnxlint_cmsis.dims.lanes import elementwise, joining, pooling
from onnxlint_cmsis.dims.lanes.facts import Facts, has
from onnxlint_cmsis.dims.lanes.known import anywhere, reduced
from onnxlint_cmsis.dims.lanes.moving import MOVES, move_of

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Mask
    from onnxlint_cmsis.dims.lanes.weighted import Weighted
    from onnxlint_cmsis.graph.model import Node

Masks = dict[str, "Mask"]
"""Per tensor, of its rank, with length 1 along axes where nothing differs; absent where nobody reads it."""
Rule = Callable[["Node", Facts, "Mask"], "dict[int, Mask] | None"]
"""Masks of a node's inputs from that of its output; None where every input may be needed."""
ALL = np.ones((), bool)
"""Everything, of any rank."""


class Backward:
    """Masks of one question.

    `rows` are the masks that say which rows of a layer's result count, this pass' own where it is None; `absorbed`
    are columns that a layer can do without, by `Node.index`.
    """

    def __init__(
        self,
        facts: Facts,
        sums: Mapping[int, Weighted],
        rows: Masks | None = None,
        absorbed: Mapping[int, Mask] | None = None,
    ) -> None:
        self.facts = facts
        self.sums = sums
        self.masks: Masks = {}
        self.rows = self.masks if rows is None else rows
        self.absorbed = absorbed or {}
        for name in facts.graph.outputs:
            self._need(name, ALL)
        for node in facts.graph.nodes:
            for body in node.bodies:
                self._need_all(body.outputs)
        for node in reversed(facts.graph.nodes):
            try:
                self._node(node)
            except (ValueError, IndexError):  # shapes that contradict each other
                self._need_all(node.inputs)

    def _node(self, node: Node) -> None:
        weighted = self.sums.get(node.index)
        if weighted is not None:
            self._sum(node, weighted)
        elif node.is_op("Shape", "Size"):
            return
        elif node.domain == "" and node.op_type in MOVES:
            self._move(node)
        else:
            rule = BACKWARD.get((node.domain, node.op_type))
            if rule is None or any(node.outputs[1:]) or not node.outputs:
                self._need_all(node.inputs)
            elif node.outputs[0] in self.masks:
                self._apply(node, rule(node, self.facts, self.masks[node.outputs[0]]))

    def _apply(self, node: Node, found: Mapping[int, Mask] | None) -> None:
        """Mark some inputs as far as they are needed and every other in full."""
        for position, name in enumerate(node.inputs):
            if name:
                self._need(name, ALL if found is None else found.get(position, ALL))

    def _sum(self, node: Node, weighted: Weighted) -> None:
        made = node.outputs[0]
        if made not in self.masks:
            return
        mask = needed_columns(weighted, self.rows.get(made, ~ALL) if weighted.mixing else self.masks[made])
        if weighted.mixing and node.index in self.absorbed:
            mask = mask & ~self.absorbed[node.index]
        rank = len(self.facts.shape(node.inputs[weighted.data]) or ())
        found = {weighted.data: mask.reshape([-1 if axis == weighted.axis else 1 for axis in range(rank)])}
        if has(node, 3) and node.op_type == "FusedConv":
            found[3] = self.masks[made]
        self._apply(node, found)

    def _move(self, node: Node) -> None:
        for position, name in enumerate(node.outputs):
            if name in self.masks:
                move, mask = move_of(node, self.facts, position), self.masks[name]
                self._apply(node, None if move is None or not mask.ndim else {0: move.backward(mask)})

    def _need_all(self, names: Iterable[str]) -> None:
        for name in names:
            if name:
                self._need(name, ALL)

    def _need(self, name: str, mask: Mask) -> None:
        shape = self.facts.shape(name)
        if shape is None or mask.ndim not in (0, len(shape)):
            mask = ALL
        if shape is not None and not mask.ndim:
            mask = mask.reshape((1,) * len(shape))
        held = self.masks.get(name)
        self.masks[name] = mask if held is None else held | mask


def needed_columns(weighted: Weighted, mask: Mask) -> Mask:
    """Which columns rows read that count, [groups x columns], from a mask of the result."""
    shape = weighted.taps.shape
    rows = anywhere(mask, [axis for axis in range(mask.ndim) if axis != weighted.made], keep=False)
    rows = np.broadcast_to(rows, shape[0] * shape[1]).reshape(shape[:2])
    made: Mask = (weighted.touched & rows[:, :, None]).any(axis=1).reshape(-1)
    return made


def _elementwise(*positions: int) -> Rule:
    """Operands are needed where the result is, any of the elements that a repeated one stands for."""

    def rule(node: Node, facts: Facts, mask: Mask) -> dict[int, Mask] | None:
        found: dict[int, Mask] = {}
        for position in positions or range(len(node.inputs)):
            shape = facts.shape(node.inputs[position]) if has(node, position) else None
            if shape is not None and mask.ndim >= len(shape):
                found[position] = reduced(mask, shape)
        return found

    return rule


def _plane(node: Node, _facts: Facts, mask: Mask) -> dict[int, Mask] | None:
    if mask.ndim < 3 or node.int("channels_last"):
        return None
    return {0: anywhere(mask, range(2, mask.ndim))}


def _reduce(node: Node, facts: Facts, mask: Mask) -> dict[int, Mask] | None:
    axes, shape = pooling.reduced_axes(node, facts), facts.shape(node.inputs[0])
    after = facts.shape(node.outputs[0])
    if axes is None or shape is None or after is None or len(after) != mask.ndim:
        return None
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    back = regrouped(mask, after, kept)
    return None if back is None else {0: back}


def _resize(node: Node, facts: Facts, mask: Mask) -> dict[int, Mask] | None:
    axes = pooling.resized_axes(node, facts)
    return None if axes is None or not mask.ndim else {0: anywhere(mask, axes)}


def _concat(node: Node, facts: Facts, mask: Mask) -> dict[int, Mask] | None:
    where = joining.lengths_of(node, facts)
    if where is None or not mask.ndim:
        return None
    axis, lengths = where
    if mask.shape[axis] == 1:
        return dict.fromkeys(joining.parts_of(node), mask)
    pieces = np.split(mask, np.cumsum(lengths)[:-1], axis=axis)
    return dict(zip(joining.parts_of(node), pieces, strict=True))


def _pad(node: Node, facts: Facts, mask: Mask) -> dict[int, Mask] | None:
    pads, shape = joining.pads_of(node, facts), facts.shape(node.inputs[0])
    if pads is None or shape is None or len(shape) != mask.ndim or node.text("mode", "constant") != "constant":
        return None
    for axis, (before, _after) in enumerate(pads):
        size = shape[axis]
        if mask.shape[axis] != 1 and size is None:
            return None
        if mask.shape[axis] != 1:
            mask = mask.take(np.arange(before, before + (size or 0)), axis)
    return {0: mask}


BACKWARD: dict[tuple[str, str], Rule] = {
    **{("", name): _elementwise() for name in elementwise.PAIRS},
    **{("", name): _elementwise(0) for name in elementwise.FORWARD if name not in elementwise.PAIRS},
    **{("", name): _elementwise(0) for name in ("BatchNormalization", "DequantizeLinear", "QuantizeLinear")},
    **{("", name): _plane for name in ("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "MaxPool")},
    **{("", name): _reduce for name in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")},
    **{("", name): _resize for name in ("Resize", "Upsample")},
    ("", "Concat"): _concat,
    ("", "Expand"): _elementwise(0),
    ("", "Pad"): _pad,
    ("com.microsoft", "DequantizeLinear"): _elementwise(0),
    ("com.microsoft", "Gelu"): _elementwise(0),
    ("com.microsoft", "QLinearAdd"): _elementwise(0, 3),
    ("com.microsoft", "QLinearAveragePool"): _plane,
    ("com.microsoft", "QLinearConcat"): _concat,
    ("com.microsoft", "QLinearGlobalAveragePool"): _plane,
    ("com.microsoft", "QLinearLeakyRelu"): _elementwise(0),
    ("com.microsoft", "QLinearMul"): _elementwise(0, 3),
    ("com.microsoft", "QLinearSigmoid"): _elementwise(0),
    ("com.microsoft", "QuantizeLinear"): _elementwise(0),
}
"""Operators by domain and name; what has no row needs all its inputs."""
