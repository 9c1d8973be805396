"""Which elements of its inputs an operator needs for some elements of its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.interval_axes import anywhere, reduced
from onnxlint_cmsis.model.regrouping import regrouped
from onnxlint_cmsis.operators.joined_values import lengths_of, pads_of
from onnxlint_cmsis.operators.summaries import reduced_axes, resized_axes

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Mask
    from onnxlint_cmsis.operators.views import ValueView


def elementwise_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Needed are the elements that a needed element of the result is computed from."""
    masks: dict[int, Mask] = {}
    for position in view.roles(node).data_of(node):
        shape = view.input_shape(node, position)
        if shape is not None and mask.ndim >= len(shape):
            masks[position] = reduced(mask, shape)
    return masks


def plane_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element of a channel's plane."""
    if mask.ndim < 3 or node.int("channels_last"):
        return None
    return {0: anywhere(mask, view.roles(node).plane(mask.ndim))}


def reduction_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element along the axes that are taken together."""
    axes, shape = reduced_axes(node, view), view.input_shape(node, 0)
    after = view.shape(node.outputs[0])
    if axes is None or shape is None or after is None or len(after) != mask.ndim:
        return None
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    back = regrouped(mask, after, kept)
    return None if back is None else {0: back}


def resize_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Every element along the axes that are computed anew."""
    axes = resized_axes(node, view)
    return None if axes is None or not mask.ndim else {0: anywhere(mask, axes)}


def concat_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """Each part where the result holds it."""
    where, parts = lengths_of(node, view), list(view.roles(node).data_of(node))
    if where is None or not mask.ndim:
        return None
    axis, lengths = where
    if mask.shape[axis] == 1:
        return dict.fromkeys(parts, mask)
    return dict(zip(parts, np.split(mask, np.cumsum(lengths)[:-1], axis=axis), strict=True))


def pad_demand(node: Node, view: ValueView, mask: Mask) -> dict[int, Mask] | None:
    """The part of the result inside the padding."""
    pads, shape = pads_of(node, view), view.input_shape(node, 0)
    if pads is None or shape is None or len(shape) != mask.ndim or node.text("mode", "constant") != "constant":
        return None
    for axis, (before, after) in enumerate(pads):
        size = shape[axis]
        if mask.shape[axis] == 1:
            continue
        if size is None or min(before, after) < 0 or mask.shape[axis] != before + size + after:
            return None  # a damaged file says another size of the result
        mask = mask.take(np.arange(before, before + size), axis)
    return {0: mask}
