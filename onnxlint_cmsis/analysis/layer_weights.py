"""Layers with constant weights, found by their records' roles, as groups of rows that sum over columns."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.weighted import LaneWeights, Taps, Weighted
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.sums import sums_of
from onnxlint_cmsis.model.interval_axes import MAX_ELEMENTS
from onnxlint_cmsis.model.roles import Form, Roles, Sums
from onnxlint_cmsis.model.window_attributes import padded
from onnxlint_cmsis.operators.scale_values import parameter
from onnxlint_cmsis.operators.views import real_attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.analysis.known_view import KnownView
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Floats, Interval, Mask


def lane_weights(view: KnownView, node: Node, position: int, channels: int) -> LaneWeights | None:
    """Weights at an input; `channels` is the axis of zero-points per channel. None where they are not known."""
    name = node.inputs[position]
    shape = view.shape(name)
    if shape is None or None in shape or not view.is_constant(name):
        return None
    sizes = [size or 0 for size in shape]
    zero = view.zero_points(node, position)
    if prod(sizes) > MAX_ELEMENTS or len(zero) not in (1, sizes[channels]):
        return None
    zero = zero.reshape([-1 if axis == channels else 1 for axis in range(len(sizes))])

    def taps() -> Taps:
        return _taps(view.known(name), zero, sizes)

    nonzero = _nonzero(view, name, zero)
    if nonzero is None or nonzero.shape != tuple(sizes):
        values, slack = taps()
        nonzero = np.asarray(values != 0 if slack is None else (values != 0) | (slack != 0))
    return LaneWeights(nonzero, taps)


def _taps(known: Interval | None, zero: Floats, sizes: list[int]) -> Taps:
    if known is None:
        raise ValueError("weights of unknown rank")
    known = known.forgotten(known.varies)
    exact = known.low is known.high
    middle = known.low if exact else (known.low + known.high) / 2
    slack = None if exact else np.broadcast_to(known.high - known.low, sizes) / 2
    return Taps(np.broadcast_to(middle - zero, sizes), slack)


def _nonzero(view: KnownView, name: str, zero: Floats) -> Mask | None:
    """Where weights are not their zero-point, without making numbers of them; None where that takes more."""
    array = view.stored(name)
    if array is not None:
        return _differs(array, zero)
    maker = view.graph.producers.get(name)
    if maker is None or not operator_of(maker).dequantizes or zero.any() or view.is_disproved(name):
        return None
    triple = next(quantized for quantized in operator_of(maker).roles.quantized if quantized.value >= 0)
    array = view.stored(maker.inputs[triple.value]) if maker.has(triple.value) else None
    scale, steps_zero = (parameter(maker, view, position) for position in (triple.scale, triple.zero_point))
    if array is None or scale is None or steps_zero is None or scale.low is not scale.high:
        return None
    keeps = np.isfinite(scale.low) & (scale.low.astype(np.float32) > 0)  # nothing else than 0 becomes 0
    return _differs(array, steps_zero.low) if keeps.all() and steps_zero.exact.all() else None


def _differs(array: NDArray[Any], zero: Floats) -> Mask:
    """Where stored numbers are another than `zero`, compared in their own type if that holds it."""
    narrow = zero.astype(array.dtype)
    return np.asarray(array != (narrow if (narrow == zero).all() else zero))


def weighted_of(node: Node, view: KnownView) -> Weighted | None:
    """A node in this form; None for other operators, and for unknown or contradictory shapes or weights."""
    weighted, result = _form(node, view), view.shape(node.outputs[0])
    if weighted is None or result is None:
        return weighted
    rows, axis = weighted.shape[0] * weighted.shape[1], weighted.output_axis
    return weighted if axis < len(result) and result[axis] in (None, rows) else None  # a channel for every row


def _form(node: Node, view: KnownView) -> Weighted | None:
    roles = view.roles(node)
    if roles.form is None or sums_of(view.graph, node) is Sums.SCALED:
        return None
    if roles.form.convolves:
        return _convolution(node, view, roles, roles.form)
    weights = next(
        (position for position in roles.weights if node.has(position) and view.is_constant(node.inputs[position])), -1
    )
    batch_turned = node.int("transBatchA") or node.int("transBatchB")
    return _product(node, view, weights) if weights >= 0 and not batch_turned else None


def _zero_point(view: KnownView, node: Node, data: int) -> Floats:
    """The one zero-point of the data, NaN where there are several."""
    zero = view.zero_points(node, data)
    return zero if len(zero) == 1 else np.array([np.nan])


def _convolution(node: Node, view: KnownView, roles: Roles, form: Form) -> Weighted | None:
    """A convolution whose data and weights fit, whatever the order of their axes."""
    position = roles.weights[0]
    shape, weights = view.input_shape(node, roles.data[0]), view.input_shape(node, position)
    if shape is None or not weights or 0 in weights or node.int("channels_last"):
        return None
    if len(shape) < 3 or {len(weights), len(view.shape(node.outputs[0]) or shape)} != {len(shape)}:
        return None
    axis, outputs, inputs = roles.channels(len(shape)), form.outputs(len(shape)), form.inputs(len(shape))
    channels, columns = shape[axis] or 0, weights[inputs] or 0
    if stated := roles.stated("group").attribute:
        groups = node.int(stated, 1)
    else:
        groups = channels if form.depthwise else 1 if form.transposed else channels // max(columns, 1)
    whole, summed = (columns, columns) if form.transposed else (weights[outputs] or 0, groups * columns)
    factors = lane_weights(view, node, position, outputs)
    if factors is None or groups < 1 or whole % groups or channels != summed or not channels:
        return None

    def grouped(array: NDArray[Any]) -> NDArray[Any]:
        ordered = np.moveaxis(array, (outputs, inputs), (0, 1))
        rows, columns = ordered.shape[:2]
        if form.transposed:
            return np.swapaxes(ordered.reshape(rows, groups, columns // groups, -1), 0, 1)
        return np.reshape(ordered, (groups, rows // groups, columns, -1))

    matrix, zero = factors.turned(grouped), _zero_point(view, node, roles.data[0])
    mixing = not form.depthwise and (groups == 1 or matrix.nonzero.shape[2] > 1)
    plain, real = _sees_all_taps(node, roles, matrix.nonzero.shape[3]), sums_of(view.graph, node) is Sums.FLOAT
    return Weighted(node.index, roles.data[0], position, axis, axis, mixing, plain, zero, matrix, real)


def _sees_all_taps(node: Node, roles: Roles, taps: int) -> bool:
    """Tell if every element of the result sees all taps; SAME padding is taken as met wherever the window is wide."""
    same = roles.channels_last and taps > 1 and node.text("padding", "SAME") != "VALID"
    if padded(node) or same or roles.form is None or not roles.form.transposed:
        return not (padded(node) or same)
    strides = {*node.ints("strides"), node.int("stride_h", 1), node.int("stride_w", 1)}
    return (
        taps == 1 and strides <= {1} and not any(node.ints("output_padding")) and "output_shape" not in node.attributes
    )


def _product(node: Node, view: KnownView, weights: int) -> Weighted | None:
    """Weights of rank 2 against data of any rank; the usual weights are the right factor."""
    roles = view.roles(node)
    is_right, rows_first = weights == roles.weights[0], roles.form is Form.ROWS
    data = next(position for position in (*roles.data, *roles.weights) if position != weights)
    turned = bool(node.int("transA")), rows_first or bool(node.int("transB"))
    rows, columns = (1, 0) if is_right else (0, 1)
    if turned[is_right]:
        rows, columns = columns, rows
    stored, shape = lane_weights(view, node, weights, rows), view.input_shape(node, data)
    result = view.shape(node.outputs[0]) if rows_first else shape
    if stored is None or stored.nonzero.ndim != 2 or not shape or not result or len(shape) < 2 - rows_first:
        return None
    axis = len(shape) - (1 if is_right != turned[not is_right] else 2)
    if shape[axis] != stored.nonzero.shape[columns]:
        return None
    factors = stored.turned(lambda array: (array if rows == 0 else array.T)[None, :, :, None])
    real, zero = sums_of(view.graph, node) is Sums.FLOAT, _zero_point(view, node, data)
    factor = real_attribute(node, "alpha", 1.0) if real else 1.0
    where = node.index, data, weights, axis, len(result) - (1 if is_right else 2)
    return Weighted(*where, True, True, zero, factors, real, factor)
