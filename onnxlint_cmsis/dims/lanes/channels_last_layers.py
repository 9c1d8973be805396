"""Layers whose data and weights have their channels last, as groups of rows that sum over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.lane_weights import lane_weights
from onnxlint_cmsis.dims.lanes.weighted_sums import LaneWeights, Weighted
from onnxlint_cmsis.operators.roles import Form, Sums
from onnxlint_cmsis.operators.sums import sums_of

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Floats
    from onnxlint_cmsis.dims.lanes.lane_view import LaneView
    from onnxlint_cmsis.graph.model import Node

CHANNELS_LAST = (Form.CHANNELS_LAST, Form.DEPTHWISE_LAST, Form.TRANSPOSED_LAST, Form.ROWS)
"""Forms of weights that stand here."""


def channels_last(node: Node, view: LaneView) -> Weighted | None:
    """A layer of one of these forms; None where its data does not end in the axis that the weights sum over."""
    roles = view.roles(node)
    place, data, form = roles.weights[0], roles.data[0], roles.form
    shape, made = view.input_shape(node, data), view.shape(node.outputs[0])
    channels = 3 if form is Form.DEPTHWISE_LAST else 0
    found = lane_weights(view, node, place, channels)
    if (
        found is None
        or shape is None
        or made is None
        or not shape
        or found.nonzero.ndim != (2 if form is Form.ROWS else 4)
    ):
        return None
    groups = _groups(form, found, shape[-1])
    if not groups:
        return None
    zero = view.zero_points(node, data)
    return Weighted(
        node.index,
        data,
        place,
        len(shape) - 1,
        len(made) - 1,
        form is not Form.DEPTHWISE_LAST,
        _sees_all_taps(node, form, found),
        zero if len(zero) == 1 else np.array([np.nan]),
        found.turned(lambda array: _in_groups(array, form, groups)),
        sums_of(view.graph, node) is Sums.FLOAT,
    )


def _groups(form: Form | None, found: LaneWeights, channels: int | None) -> int:
    """How many groups the channels make up; 0 where the weights do not fit them."""
    shape = found.nonzero.shape
    if not channels:
        return 0
    if form is Form.DEPTHWISE_LAST:
        return channels if shape[0] == 1 and shape[3] % channels == 0 else 0
    groups = channels // shape[-1] if shape[-1] and channels % shape[-1] == 0 else 0
    if groups > 1 and (form is not Form.CHANNELS_LAST or shape[0] % groups):
        return 0
    return groups


def _in_groups(array: Floats, form: Form | None, groups: int) -> Floats:
    """Weights as [groups, rows, columns, taps]."""
    if form is Form.DEPTHWISE_LAST:
        taps = array.shape[1] * array.shape[2]
        return np.moveaxis(array.reshape(taps, groups, -1), 0, -1)[:, :, None, :]
    rows, columns = array.shape[0], array.shape[-1]
    return np.moveaxis(array.reshape(groups, rows // groups, -1, columns), 2, 3)


def _sees_all_taps(node: Node, form: Form | None, found: LaneWeights) -> bool:
    """Whether every element of the result sees all taps; SAME padding is taken as met wherever the window is wide."""
    if form is Form.ROWS:
        return True
    single = found.nonzero.shape[1:3] == (1, 1)
    if form is Form.TRANSPOSED_LAST:
        return single and node.int("stride_h", 1) == node.int("stride_w", 1) == 1
    return single or node.text("padding", "SAME") == "VALID"
