"""Convolutions and matrix products, operator by operator, as groups of rows that sum over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onnxlint_cmsis.dims.lanes.facts import Facts, real_attribute
from onnxlint_cmsis.dims.lanes.weighted import Weighted

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats, Mask
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.types import Size


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
        if found is None or node.int("channels_last") or found[0].ndim < 3 or group < 1:
            return None
        rows, columns = found[0].shape[:2]
        if rows % group or _channels(facts, node) != group * columns:
            return None
        shape = group, rows // group, columns, -1
        taps, slack = found[0].reshape(shape), None if found[1] is None else found[1].reshape(shape)
        mixing, plain = group == 1 or columns > 1, not _padded(node)
        zero = _zero_point(facts, node, places)
        return Weighted(
            node.index, 0, places.weights, 1, 1, mixing, plain, zero, taps, _touched(taps, slack), slack, places.real
        )

    return rule


def _channels(facts: Facts, node: Node) -> Size:
    """Channels of the data of a convolution."""
    shape = facts.shape(node.inputs[0])
    return None if shape is None or len(shape) < 3 else shape[1]


def _padded(node: Node) -> bool:
    """Whether some element of the result may see fewer taps than others."""
    return any(node.ints("pads")) or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID")


def _transposed(node: Node, facts: Facts) -> Weighted | None:
    """Weights [C, M / group, ...]; every element sees the same taps only where there is one, at stride 1."""
    found = _taps(facts, node, _Places(1), 0)
    group = node.int("group", 1)
    if found is None or found[0].ndim < 3 or group < 1 or found[0].shape[0] % group:
        return None
    if _channels(facts, node) != found[0].shape[0]:
        return None
    columns, rows = found[0].shape[0] // group, found[0].shape[1]

    def grouped(array: Floats) -> Floats:
        return np.swapaxes(array.reshape(group, columns, rows, -1), 1, 2)

    taps, slack = grouped(found[0]), None if found[1] is None else grouped(found[1])
    grown = any(node.ints("output_padding")) or "output_shape" in node.attributes
    plain = taps.shape[3] == 1 and set(node.ints("strides")) <= {1} and not _padded(node) and not grown
    mixing = group == 1 or columns > 1
    return Weighted(node.index, 0, 1, 1, 1, mixing, plain, np.zeros(1), taps, _touched(taps, slack), slack, real=True)


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
    number = real_attribute(node, "alpha", 1.0) if node.op_type in GEMMS and places.real else 1.0
    zero = _zero_point(facts, node, places)
    touched = _touched(taps, slack)
    wide = node.index, data, places.weights, axis, made
    return Weighted(*wide, True, True, zero, taps, touched, slack, places.real, number)


def _touched(taps: Floats, slack: Floats | None) -> Mask:
    nonzero = taps != 0 if slack is None else (taps != 0) | (slack != 0)
    return np.asarray(nonzero.any(axis=3))


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
