"""The backward pass: the elements of every tensor that an output may need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.known_view import KnownView, covers
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.interval_axes import anywhere, fits
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.moves import moved_input, passages

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.weighted import Weighted
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Mask


Masks = dict[str, "Mask"]
"""Per tensor, of its rank, with length 1 along axes where nothing differs; absent where no node reads it."""
MASKS_OF_A_VALUE = 16
"""Elements of masks that take as many bytes as one value with its ends."""
ALL = np.ones((), bool)
"""Everything, of any rank."""


class Demand:
    """Masks of one question.

    `rows` say which rows of a layer's result count; None for the masks that this pass finds. `absorbed` are columns
    that a layer can do without, by `Node.index`.
    """

    def __init__(
        self,
        view: KnownView,
        rows: Masks | None = None,
        absorbed: Mapping[int, Mask] | None = None,
    ) -> None:
        self.view = view
        self.masks: Masks = {}
        self.rows = self.masks if rows is None else rows
        self.absorbed = absorbed or {}
        for name in view.graph.outputs:
            self._need(name, ALL)
        for node in view.graph.nodes:
            for body in node.bodies:
                self._need_all(body.outputs)
        for node in reversed(view.graph.nodes):
            try:
                self._node(node)
            except (ValueError, IndexError):  # shapes that contradict each other
                self._need_all(node.inputs)

    def _node(self, node: Node) -> None:
        weighted, operator = self.view.weighted.get(node.index), operator_of(node)
        if weighted is not None:
            self._sum(node, weighted)
        elif operator.elements is Elements.SIZES:
            return
        elif operator.movement is not None:
            for name, way in zip(node.outputs, passages(node, self.view), strict=True):
                if name in self.masks:
                    mask = self.masks[name]
                    move = operator.movement(way) if way is not None and mask.ndim else None
                    self._apply(node, None if move is None else {moved_input(node, self.view): move.backward(mask)})
        elif not callable(operator.demand) or any(node.outputs[1:]) or not node.outputs:
            self._need_all(node.inputs)
        elif node.outputs[0] in self.masks:
            self._apply(node, operator.demand(node, self.view, self.masks[node.outputs[0]]))

    def _apply(self, node: Node, masks: Mapping[int, Mask] | None) -> None:
        """Mark the demand of some inputs, and all of every other input."""
        for position, name in enumerate(node.inputs):
            if name:
                self._need(name, ALL if masks is None else masks.get(position, ALL))

    def _sum(self, node: Node, weighted: Weighted) -> None:
        result = node.outputs[0]
        if result not in self.masks:
            return
        mask = needed_columns(weighted, self.rows.get(result, ~ALL) if weighted.mixing else self.masks[result])
        if weighted.mixing and node.index in self.absorbed:
            mask = mask & ~self.absorbed[node.index]
        rank = len(self.view.shape(node.inputs[weighted.data]) or ())
        demanded = {weighted.data: mask.reshape([-1 if axis == weighted.axis else 1 for axis in range(rank)])}
        summand = operator_of(node).roles.summand
        if node.has(summand):
            demanded[summand] = self.masks[result]
        self._apply(node, demanded)

    def _need_all(self, names: Iterable[str]) -> None:
        for name in names:
            if name:
                self._need(name, ALL)

    def _need(self, name: str, mask: Mask) -> None:
        shape = self.view.shape(name)
        if shape is None or not covers(mask, shape):
            mask = ALL
        if shape is not None and not mask.ndim:
            mask = mask.reshape((1,) * len(shape))
        held = self.masks.get(name)
        if not self.view.takes(mask.size // MASKS_OF_A_VALUE):
            mask = np.ones((1,) * mask.ndim, bool)
        if held is not None:
            mask = held | mask if fits(held.shape, mask.shape) else np.ones((1,) * mask.ndim, bool)
        self.masks[name] = mask


def needed_columns(weighted: Weighted, mask: Mask) -> Mask:
    """Columns that demanded rows read, [groups x columns], from a mask of the result."""
    groups, outputs = weighted.shape[:2]
    rows = anywhere(mask, [axis for axis in range(mask.ndim) if axis != weighted.output_axis], keep=False)
    if rows.all():
        return np.asarray(weighted.touched.any(axis=1).reshape(-1))
    rows = np.broadcast_to(rows, groups * outputs).reshape(groups, outputs)
    return np.asarray((weighted.touched & rows[:, :, None]).any(axis=1).reshape(-1))
