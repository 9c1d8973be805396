"""Convolutions and matrix products as groups of rows that sum over columns, by their records' roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.channels_last_layers import CHANNELS_LAST, channels_last
from onnxlint_cmsis.dims.lanes.lane_weights import lane_weights
from onnxlint_cmsis.dims.lanes.weighted_sums import Weighted
from onnxlint_cmsis.graph.window_attributes import padded
from onnxlint_cmsis.operators.roles import Form, Sums
from onnxlint_cmsis.operators.sums import sums_of
from onnxlint_cmsis.operators.values.value_view import has, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.algebra.interval import Floats
    from onnxlint_cmsis.dims.lanes.lane_view import LaneView
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.types import Size


def weighted_of(node: Node, view: LaneView) -> Weighted | None:
    """A node in this form; None for other operators, and for unknown or contradictory shapes or weights."""
    found, result = _form(node, view), view.shape(node.outputs[0])
    if found is None or (result is not None and not _fits(found, result)):
        return None
    return found


def _fits(found: Weighted, result: Sequence[Size]) -> bool:
    """Whether the result has a channel for every row."""
    rows = found.shape[0] * found.shape[1]
    return found.made < len(result) and result[found.made] in (None, rows)


def _form(node: Node, view: LaneView) -> Weighted | None:
    roles = view.roles(node)
    if roles.form is None or sums_of(view.graph, node) is Sums.SCALED:
        return None
    if roles.form in CHANNELS_LAST:
        return channels_last(node, view)
    if roles.form is Form.CONVOLUTION:
        return _convolution(node, view)
    if roles.form is Form.TRANSPOSED:
        return _transposed(node, view)
    weights = next((place for place in roles.weights if has(node, place) and view.is_constant(node.inputs[place])), -1)
    return _product(node, view, weights) if weights >= 0 and not _batch_turned(node) else None


def _batch_turned(node: Node) -> bool:
    return bool(node.int("transBatchA") or node.int("transBatchB"))


def _zero_point(view: LaneView, node: Node, data: int) -> Floats:
    """The one zero-point of the data, NaN where there are several."""
    zero = view.zero_points(node, data)
    return zero if len(zero) == 1 else np.array([np.nan])


def _convolution(node: Node, view: LaneView) -> Weighted | None:
    """Weights [M, C / group, ...] and data [N, C, ...]."""
    place, group = view.roles(node).weights[0], node.int("group", 1)
    found = lane_weights(view, node, place, 0)
    if found is None or node.int("channels_last") or found.nonzero.ndim < 3 or group < 1:
        return None
    rows, columns = found.nonzero.shape[:2]
    if rows % group or _channels(view, node) != group * columns:
        return None
    weights = found.turned(lambda array: array.reshape(group, rows // group, columns, -1))
    zero, real = _zero_point(view, node, 0), view.roles(node).sums is Sums.FLOAT
    mixing, plain = group == 1 or columns > 1, not padded(node)
    return Weighted(node.index, 0, place, 1, 1, mixing, plain, zero, weights, real)


def _channels(view: LaneView, node: Node) -> Size:
    """Channels of the data of a convolution."""
    shape = view.input_shape(node, 0)
    return None if shape is None or len(shape) < 3 else shape[1]


def _transposed(node: Node, view: LaneView) -> Weighted | None:
    """Weights [C, M / group, ...]; every element sees the same taps only where there is one, at stride 1."""
    found, group = lane_weights(view, node, 1, 0), node.int("group", 1)
    if found is None or found.nonzero.ndim < 3 or group < 1 or found.nonzero.shape[0] % group:
        return None
    if _channels(view, node) != found.nonzero.shape[0]:
        return None
    columns, rows = found.nonzero.shape[0] // group, found.nonzero.shape[1]
    weights = found.turned(lambda array: np.swapaxes(array.reshape(group, columns, rows, -1), 1, 2))
    grown = any(node.ints("output_padding")) or "output_shape" in node.attributes
    plain = weights.nonzero.shape[3] == 1 and set(node.ints("strides")) <= {1} and not padded(node) and not grown
    mixing = group == 1 or columns > 1
    return Weighted(node.index, 0, 1, 1, 1, mixing, plain, np.zeros(1), weights, real=True)


def _product(node: Node, view: LaneView, weights: int) -> Weighted | None:
    """Weights of rank 2 against data of any rank; the usual weights are the right factor."""
    roles = view.roles(node)
    is_right = weights == roles.weights[0]
    data = roles.weights[1] if is_right else roles.weights[0]
    turned = bool(node.int("transA")), bool(node.int("transB"))
    rows, columns = (1, 0) if is_right else (0, 1)
    if turned[is_right]:
        rows, columns = columns, rows
    found, shape = lane_weights(view, node, weights, rows), view.input_shape(node, data)
    if found is None or found.nonzero.ndim != 2 or shape is None or len(shape) < 2:
        return None
    last = len(shape) - 1
    axis = last if is_right != turned[not is_right] else last - 1
    if shape[axis] != found.nonzero.shape[columns]:
        return None
    factors = found.turned(lambda array: (array if rows == 0 else array.T)[None, :, :, None])
    real, zero = roles.sums is Sums.FLOAT, _zero_point(view, node, data)
    factor = real_attribute(node, "alpha", 1.0) if real else 1.0
    where = node.index, data, weights, axis, last if is_right else last - 1
    return Weighted(*where, True, True, zero, factors, real, factor)
