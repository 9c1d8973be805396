"""Intervals and needs of blocks of the plane that are laid out in the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.model.interval_axes import anywhere, level
from onnxlint_cmsis.model.intervals import hull, point

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Interval, Mask
    from onnxlint_cmsis.operators.views import ValueView


def block_values(node: Node, view: ValueView) -> Interval | None:
    """Elements of the same channel from anywhere, or the zeros that pad."""
    x, blocks = view.input(node, 0), view.ints(node, 1)
    if x is None or blocks is None or len(blocks) >= x.low.ndim:
        return None
    return hull(level(x, range(len(blocks) + 1)), point(0.0))


def block_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel."""
    blocks = view.ints(node, 1)
    return {0: anywhere(mask, range(len(blocks) + 1))} if blocks and len(blocks) < mask.ndim else None
