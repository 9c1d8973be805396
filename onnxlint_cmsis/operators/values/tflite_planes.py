"""Intervals and needs of TensorFlow Lite's operators on NHWC images: pools, resizing, padding."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.algebra.interval import Interval, hull, number
from onnxlint_cmsis.algebra.spread import anywhere, level
from onnxlint_cmsis.operators.values.demands import pad_demand
from onnxlint_cmsis.operators.values.joins import pad_values
from onnxlint_cmsis.operators.values.planes import Summary
from onnxlint_cmsis.operators.values.value_view import ValueRule, ValueView, has

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Mask
    from onnxlint_cmsis.graph.model import Attribute, Node

PLANE = (1, 2)
"""H and W."""


def of_plane(summary: Summary) -> ValueRule:
    """Elements of a plane taken together, channel by channel; windows leave padding out."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        x = view.input(node, 0)
        return None if x is None or x.low.ndim != 4 else summary(level(x, PLANE), node, view.rounding(node))

    return rule


def image_demand(_node: Node, _view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel's plane."""
    return {0: anywhere(mask, PLANE)} if mask.ndim == 4 else None


def block_values(node: Node, view: ValueView) -> Interval | None:
    """Elements of the same channel from anywhere, or the zeros that pad."""
    x, blocks = view.input(node, 0), view.ints(node, "", 1)
    if x is None or blocks is None or len(blocks) >= x.low.ndim:
        return None
    return hull(level(x, range(len(blocks) + 1)), number(0.0))


def block_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel."""
    blocks = view.ints(node, "", 1)
    return {0: anywhere(mask, range(len(blocks) + 1))} if blocks and len(blocks) < mask.ndim else None


def pad_result(node: Node, view: ValueView) -> Interval | None:
    """A number around the data; for MIRROR_PAD elements of the data."""
    value = view.input(node, 2) if has(node, 2) else number(0.0)
    if value is None or not value.exact.all() or value.low.size != 1:
        return None
    return pad_values(as_pad(node, view, float(value.low.flat[0])), view)


def pad_need(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """The part of the result inside the padding."""
    return pad_demand(as_pad(node, view, 0.0), view, mask)


def as_pad(node: Node, view: ValueView, value: float) -> Node:
    """The node as ONNX's Pad: counts in front of all axes, then behind."""
    counts = view.ints(node, "", 1)
    mode = "reflect" if "mode" in node.attributes else "constant"
    attributes: dict[str, Attribute] = {"mode": mode, "value": value}
    if counts is not None:
        attributes["pads"] = tuple(counts[::2] + counts[1::2])
    return replace(node, op_type="Pad", domain="", inputs=node.inputs[:1], attributes=attributes)
