"""Convolutions and matrix products in one form: groups of rows that sum over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onnxlint_cmsis.dims.lanes.facts import Facts
from onnxlint_cmsis.dims.lanes.known import SLACK, Known, along, exactly

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats, Mask
    from onnxlint_cmsis.onnx_graph.graph import Node


class Weighted(NamedTuple):
    """A node that sums its data along one axis with constant weights."""

    node: int
    """`Node.index`."""
    data: int
    """Input that holds the data."""
    weights: int
    """Input that holds the weights."""
    axis: int
    """Axis of the data that is summed, [groups x columns] long."""
    made: int
    """Axis of the result, [groups x rows] long, both counted from the front."""
    mixing: bool
    """Whether the result has other channels than the data; False for a depthwise convolution."""
    plain: bool
    """Whether every element of the result sees all taps, so that a constant gives one value everywhere."""
    zero: Floats
    """Zero-point of the data."""
    taps: Floats
    """Weights less their zero-point, [groups, rows, columns, taps]; NaN where not known."""
    touched: Mask
    """Which rows read which columns, [groups, rows, columns]."""
    slack: Floats | None
    """Rounding of the weights themselves, of the shape of `taps`, where they are not exact."""
    real: bool
    """Whether the sum is computed in float."""
    factor: float = 1.0
    """Number the sum is multiplied by before the bias is added."""

    def columns(self, data: Known) -> Known:
        """Constants along the summed axis less the zero-point, [groups, columns]; live where not one value."""
        line = along(data, self.axis)
        shape = self.taps.shape[0], self.taps.shape[2]
        return line.map(lambda bound: np.broadcast_to(bound - self.zero, shape[0] * shape[1]).reshape(shape))


TERMS = 16
"""Terms after which the rounding of a float32 sum can exceed `SLACK` of their sizes."""


def sums(weighted: Weighted, columns: Known) -> Known:
    """Sum of each row over columns, [groups x rows]; live where a row reads what is live or differs at the borders."""
    usable = columns.zero | (~columns.live & weighted.plain)
    fine = ~(weighted.touched & ~usable[:, None, :]).any(axis=2) & ~np.isnan(weighted.taps).any(axis=(2, 3))
    if not fine.any():
        return exactly(np.full(fine.size, np.nan))
    middle = np.where(usable, (columns.low + columns.high) / 2, 0)
    weights = np.where(np.isnan(weighted.taps), 0, weighted.taps)
    total = _times(weights.sum(axis=3), middle)
    made = exactly(np.where(fine, total, np.nan).reshape(-1) * weighted.factor)
    if not weighted.real or not middle.any():
        return made
    spread = np.where(usable, (columns.high - columns.low) / 2, 0)
    size = np.abs(weights).sum(axis=3)
    terms = np.count_nonzero(middle) * weights.shape[3]
    margin = _times(size, spread + np.abs(middle) * SLACK * (1 + terms / TERMS))
    if weighted.slack is not None:
        margin = margin + _times(weighted.slack.sum(axis=3), np.abs(middle) + spread)
    return made.widened(margin.reshape(-1) * abs(weighted.factor))


def _times(weights: Floats, columns: Floats) -> Floats:
    made: Floats = np.matmul(weights, columns[:, :, None])[:, :, 0]
    return made


def weighted_of(node: Node, facts: Facts) -> Weighted | None:
    """A node in this form; None where it is none, or its shapes or weights are not known."""
    rule = SUMS.get((node.domain, node.op_type))
    return rule(node, facts) if rule is not None else None


class _Places(NamedTuple):
    """Inputs of an operator."""

    weights: int
    zero: int = -1
    weights_zero: int = -1
    real: bool = False


def _taps(facts: Facts, node: Node, places: _Places, channels: int) -> tuple[Floats, Floats | None] | None:
    """Weights less their zero-point, and their rounding; `channels` is the axis of zero-points per channel."""
    name = node.inputs[places.weights]
    known, shape = facts.known(name), facts.shape(name)
    if known is None or shape is None or None in shape or not facts.is_constant(name):
        return None
    sizes = [size or 0 for size in shape]
    zero = facts.vector(node, places.weights_zero, 0.0) if places.weights_zero >= 0 else np.zeros(1)
    if len(zero) not in (1, sizes[channels]):
        return None
    zero = zero.reshape([-1 if axis == channels else 1 for axis in range(len(sizes))])
    middle = known.low if known.low is known.high else (known.low + known.high) / 2
    slack = None if known.low is known.high else np.broadcast_to(known.high - known.low, sizes) / 2
    return np.broadcast_to(middle - zero, sizes), slack


def _zero_point(facts: Facts, node: Node, places: _Places) -> Floats:
    zero = facts.vector(node, places.zero, 0.0) if places.zero >= 0 else np.zeros(1)
    return zero if len(zero) == 1 else np.array([np.nan])


def _convolution(places: _Places) -> Callable[[Node, Facts], Weighted | None]:
    """Weights [M, C / group, ...] and data [N, C, ...]."""

    def rule(node: Node, facts: Facts) -> Weighted | None:
        found = _taps(facts, node, places, 0)
        group = node.int("group", 1)
        channels = (facts.shape(node.inputs[0]) or (None, None))[1]
        if found is None or node.int("channels_last") or found[0].ndim < 3 or group < 1:
            return None
        rows, columns = found[0].shape[:2]
        if rows % group or channels != group * columns:
            return None
        shape = group, rows // group, columns, -1
        taps, slack = found[0].reshape(shape), None if found[1] is None else found[1].reshape(shape)
        mixing, plain = group == 1 or columns > 1, not _padded(node)
        zero = _zero_point(facts, node, places)
        return Weighted(
            node.index, 0, places.weights, 1, 1, mixing, plain, zero, taps, _touched(taps), slack, places.real
        )

    return rule


def _padded(node: Node) -> bool:
    """Whether some element of the result may see fewer taps than others."""
    return any(node.ints("pads")) or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID")


def _transposed(node: Node, facts: Facts) -> Weighted | None:
    """Weights [C, M / group, ...]; every element sees the same taps only where there is one, at stride 1."""
    found = _taps(facts, node, _Places(1), 0)
    group = node.int("group", 1)
    channels = (facts.shape(node.inputs[0]) or (None, None))[1]
    if found is None or found[0].ndim < 3 or group < 1 or found[0].shape[0] % group or channels != found[0].shape[0]:
        return None
    columns, rows = found[0].shape[0] // group, found[0].shape[1]

    def grouped(array: Floats) -> Floats:
        return np.swapaxes(array.reshape(group, columns, rows, -1), 1, 2)

    taps, slack = grouped(found[0]), None if found[1] is None else grouped(found[1])
    grown = any(node.ints("output_padding")) or "output_shape" in node.attributes
    plain = taps.shape[3] == 1 and set(node.ints("strides")) <= {1} and not _padded(node) and not grown
    mixing = group == 1 or columns > 1
    return Weighted(node.index, 0, 1, 1, 1, mixing, plain, np.zeros(1), taps, _touched(taps), slack, real=True)


def _product(left: _Places, right: _Places) -> Callable[[Node, Facts], Weighted | None]:
    """A matrix product; `left` and `right` say where everything is when the weights are the left or right factor."""

    def rule(node: Node, facts: Facts) -> Weighted | None:
        if facts.is_constant(node.inputs[right.weights]):
            return _factor(node, facts, right, left.weights, (1, 0))
        if facts.is_constant(node.inputs[left.weights]):
            return _factor(node, facts, left, right.weights, (0, 1))
        return None

    return rule


def _factor(node: Node, facts: Facts, places: _Places, data: int, axes: tuple[int, int]) -> Weighted | None:
    """Weights of rank 2, of which `axes` are rows and columns, against data of any rank."""
    is_right = axes == (1, 0)
    turned = (bool(node.int("transA")), bool(node.int("transB"))) if node.op_type in GEMMS else (False, False)
    rows, columns = axes[::-1] if turned[is_right] else axes
    found, shape = _taps(facts, node, places, rows), facts.shape(node.inputs[data])
    if found is None or found[0].ndim != 2 or shape is None or len(shape) < 2:
        return None

    def ordered(array: Floats) -> Floats:
        turned_array: Floats = array if rows == 0 else array.T
        return turned_array[None, :, :, None]

    last = len(shape) - 1
    axis = last if is_right != turned[not is_right] else last - 1
    made = last if is_right else last - 1
    if shape[axis] != found[0].shape[columns]:
        return None
    taps, slack = ordered(found[0]), None if found[1] is None else ordered(found[1])
    factor = node.attributes.get("alpha", 1.0) if node.op_type in GEMMS and places.real else 1.0
    number = float(factor) if isinstance(factor, int | float) else np.nan
    zero = _zero_point(facts, node, places)
    touched = _touched(taps)
    wide = node.index, data, places.weights, axis, made
    return Weighted(*wide, True, True, zero, taps, touched, slack, places.real, number)


def _touched(taps: Floats) -> Mask:
    made: Mask = (taps != 0).any(axis=3)
    return made


GEMMS = ("FusedGemm", "Gemm", "QGemm")

SUMS: dict[tuple[str, str], Callable[[Any, Facts], Weighted | None]] = {
    ("", "Conv"): _convolution(_Places(1, real=True)),
    ("", "ConvInteger"): _convolution(_Places(1, 2, 3)),
    ("", "ConvTranspose"): _transposed,
    ("", "Gemm"): _product(_Places(0, real=True), _Places(1, real=True)),
    ("", "MatMul"): _product(_Places(0, real=True), _Places(1, real=True)),
    ("", "MatMulInteger"): _product(_Places(0, 3, 2), _Places(1, 2, 3)),
    ("", "QLinearConv"): _convolution(_Places(3, 2, 5)),
    ("", "QLinearMatMul"): _product(_Places(0, 5, 2), _Places(3, 2, 5)),
    ("com.microsoft", "FusedConv"): _convolution(_Places(1, real=True)),
    ("com.microsoft", "FusedGemm"): _product(_Places(0, real=True), _Places(1, real=True)),
    ("com.microsoft", "QGemm"): _product(_Places(0, 5, 2), _Places(3, 2, 5)),
    ("com.microsoft", "QLinearConv"): _convolution(_Places(3, 2, 5)),
}
"""Operators that sum with constant weights, by domain and operator."""
