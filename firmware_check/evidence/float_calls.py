"""For each hazard of the functions for f32 and f16 a call that meets it, and a neighbour that does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from onnxlint_cmsis.ground.types import Dims, FloatCall, KernelCall, Pair


class Twins(NamedTuple):
    """A call that meets a hazard, and one that does not."""

    met: KernelCall
    """Meets it."""
    beside: KernelCall
    """Does not."""
    data: Data
    """What both are run with."""
    beside_data: Data | None = None
    """What the second is run with, where that differs."""


class Data(NamedTuple):
    """Numbers of a call: uniform between two bounds, one of each row else where that is given."""

    low: float = -1.0
    """Least number of inputs."""
    high: float = 1.0
    """Largest one."""
    weights: tuple[float, float] = (-1.0, 1.0)
    """Bounds of weights."""
    first: float | None = None
    """First element of the input; None for one as the others are."""


PACKED, NONE = FloatCall(packed=True), FloatCall(scratch=0)
_PLAIN, _STANDARD = Data(), FloatCall()
_ALIKE = Data(0.55, 0.55, (0.55, 0.55))
_TANH = FloatCall(activation=34)


def _conv(
    given: tuple[int, int, int], window: tuple[int, int, int], out: tuple[int, int], floating: FloatCall = _STANDARD
) -> KernelCall:
    """A convolution of one image: input [h, w, c], window [out_c, h, w], output [h, w]."""
    high, wide, depth = given
    out_c, kernel_h, kernel_w = window
    return KernelCall(
        "convolve", Dims(1, high, wide, depth), Dims(out_c, kernel_h, kernel_w, depth), Dims(1, *out, out_c),
        floating=floating,
    )  # fmt: skip


def _dw(given: tuple[int, int, int], window: tuple[int, int], out: tuple[int, int]) -> KernelCall:
    depth = given[2]
    return KernelCall(
        "depthwise", Dims(1, *given), Dims(1, *window, depth), Dims(1, *out, depth), ch_mult=1, floating=_STANDARD
    )


def _pool(wide: int, out: int, entry: str = "max_pool", kernel: int = 2) -> KernelCall:
    """A pool along a row."""
    sizes = Dims(1, 1, wide, 3), Dims(1, 1, kernel, 1), Dims(1, 1, out, 3)
    return KernelCall(entry, *sizes, Pair(1, kernel), floating=_STANDARD)


def _square_pool(size: int) -> KernelCall:
    sizes = Dims(1, size, size, 1), Dims(1, size, size, 1), Dims(1, 1, 1, 1)
    return KernelCall("avgpool", *sizes, floating=_STANDARD)


def _dense(depth: int, stated: int = 0, rows: int = 1) -> KernelCall:
    return KernelCall(
        "fully_connected", Dims(rows, 1, 1, depth), Dims(stated or depth, 1, 1, 4), Dims(rows, 1, 1, 4),
        floating=_STANDARD,
    )  # fmt: skip


def _product(columns: int, floating: FloatCall, matrices: int = 2, depth: int = 6) -> KernelCall:
    """A product of 3 rows; rows stand in `c`, the common length in `w`."""
    left, right, out = Dims(1, matrices, depth, 3), Dims(1, matrices, depth, columns), Dims(1, matrices, columns, 3)
    return KernelCall("batch_matmul", left, right, out, floating=floating)


def _extreme(entry: str, other: Dims) -> KernelCall:
    sizes = Dims(1, 3, 1, 1), other, Dims(1, 3, other.w, 1)
    return KernelCall(entry, *sizes, floating=_STANDARD)


def _transposed(offset: int) -> KernelCall:
    return KernelCall(
        "transpose_conv", Dims(1, 3, 3, 2), Dims(2, 3, 3, 2), Dims(1, 7, 7, 2), Pair(2, 2),
        floating=FloatCall(padding_offset=Pair(offset, offset)),
    )  # fmt: skip


def _flat(entry: str, size: int, floating: FloatCall = _STANDARD) -> KernelCall:
    dims = Dims(1, 1, 1, size)
    return KernelCall(entry, dims, dims, dims, floating=floating)


def _softmax(size: int) -> KernelCall:
    return KernelCall("softmax", Dims(1, 1, 1, size), Dims(1, 1, 1, 1), Dims(1, 1, 1, size), floating=_STANDARD)


def _padded(front: int) -> KernelCall:
    out = Dims(1, 3 + front, 4, 3)
    return KernelCall(
        "pad", Dims(1, 3, 4, 3), Dims(1, 1, 1, 1), out, pad_front=Dims(0, front, 0, 0), floating=_STANDARD
    )


_ROW = _conv((1, 10, 4), (8, 1, 7), (1, 4))
_WIDE_PAD = _conv((1, 6, 4), (4, 1, 2), (1, 9))
_POINT = _conv((4, 4, 4), (4, 1, 1), (3, 3))._replace(stride=Pair(2, 2))
_GROUPED = _conv((4, 4, 4), (4, 3, 3), (2, 2))
_OUTER = _conv((3, 3, 4), (4, 1, 1), (5, 5))._replace(entry="convolve_1x1", padding=Pair(1, 1))
_INNER = _conv((3, 3, 4), (4, 1, 1), (3, 3))._replace(entry="convolve_1x1")
_LINE = _conv((1, 10, 4), (8, 1, 7), (1, 4))._replace(entry="convolve_1_x_n")
_SCALED = KernelCall("batch_norm", Dims(1, 2, 2, 4), Dims(1, 1, 1, 1), Dims(1, 2, 2, 4), floating=_STANDARD)
_LSTM = KernelCall("lstm_unidirectional", Dims(1, 1, 2, 3), Dims(1, 1, 1, 1), Dims(1, 1, 2, 4), floating=_STANDARD)
_SVDF = KernelCall("svdf", Dims(1, 3, 1, 1), Dims(4, 2, 1, 3), Dims(1, 4, 1, 1), floating=FloatCall(scratch=64))

TWINS: Mapping[str, Twins] = {
    "conv-packed-direct": Twins(
        _conv((4, 4, 1), (8, 3, 3), (2, 2), PACKED), _conv((6, 6, 2), (8, 3, 3), (4, 4), PACKED), _PLAIN
    ),
    "conv-packed-1xn": Twins(_ROW._replace(floating=PACKED), _ROW, _PLAIN),
    "conv1d-padding-after": Twins(_conv((1, 8, 4), (8, 1, 3), (1, 8)), _conv((1, 8, 4), (8, 1, 3), (1, 6)), _PLAIN),
    "conv-1xn-padding-overrun": Twins(
        _WIDE_PAD._replace(padding=Pair(0, 4)), _WIDE_PAD._replace(padding=Pair(0, 2)), _PLAIN
    ),
    "conv-grouped": Twins(_GROUPED._replace(filter_dims=Dims(4, 3, 3, 2)), _GROUPED, _PLAIN),
    "conv-1x1-past-input": Twins(_POINT, _POINT._replace(output_dims=Dims(1, 2, 2, 4)), _PLAIN),
    "conv-1x1-refused": Twins(_OUTER, _INNER, _PLAIN),
    "conv-1xn-refused": Twins(_LINE._replace(floating=NONE), _LINE, _PLAIN),
    "conv1d-packed-channels-left": Twins(
        _conv((1, 8, 4), (6, 1, 3), (1, 6), PACKED), _conv((1, 8, 4), (8, 1, 3), (1, 6), PACKED), _PLAIN
    ),
    "tconv-padding-offset": Twins(_transposed(1), _transposed(0), _PLAIN),
    "dw-k3-padding-after": Twins(_dw((1, 8, 4), (1, 3), (1, 8)), _dw((1, 8, 4), (1, 3), (1, 6)), _PLAIN),
    "dw-3x3-padding-after": Twins(_dw((6, 6, 4), (3, 3), (6, 6)), _dw((6, 6, 4), (3, 3), (4, 4)), _PLAIN),
    "dw-2x5-padding-after": Twins(_dw((2, 9, 4), (2, 5), (1, 9)), _dw((2, 9, 4), (2, 5), (1, 5)), _PLAIN),
    "fc-depth-refused": Twins(_dense(16, stated=12), _dense(16), _PLAIN),
    "bmm-packed-adjoint": Twins(_product(8, FloatCall(packed=True, adj_y=True)), _product(8, PACKED), _PLAIN),
    "bmm-packed-batch": Twins(_product(5, PACKED), _product(8, PACKED), _PLAIN),
    "max-pool-1d-past-input": Twins(_pool(7, 4), _pool(8, 4), _PLAIN),
    "maximum-single-columns": Twins(
        _extreme("maximum", Dims(1, 3, 5, 1)), _extreme("maximum", Dims(1, 3, 1, 1)), _PLAIN
    ),
    "minimum-single-columns": Twins(
        _extreme("minimum", Dims(1, 3, 5, 1)), _extreme("minimum", Dims(1, 3, 1, 1)), _PLAIN
    ),
    "batch-norm-bias-missing": Twins(_SCALED._replace(bias=False), _SCALED, _PLAIN),
    "lstm-initial-state": Twins(_LSTM._replace(initial_state=True), _LSTM, _PLAIN),
    "svdf-buffers-missing": Twins(_SVDF._replace(floating=NONE), _SVDF, _PLAIN),
    "lstm-tanh-saturated": Twins(_LSTM, _LSTM, Data(4.05, 4.05), _PLAIN),
    "lstm-tanh-rational": Twins(_LSTM, _LSTM, Data(2.4, 2.4), Data(-0.3, 0.3)),
    "elementwise-nothing": Twins(_flat("elementwise_add", 0), _flat("elementwise_add", 4), _PLAIN),
    "pad-negative": Twins(_padded(-1), _padded(1), _PLAIN),
    "conv-half-sum": Twins(_conv((1, 1, 9000), (4, 1, 1), (1, 1)), _conv((1, 1, 16), (4, 1, 1), (1, 1)), _ALIKE),
    "fc-half-sum": Twins(_dense(9000), _dense(16), _ALIKE),
    "bmm-half-sum": Twins(_product(4, _STANDARD, 1, 9000), _product(4, _STANDARD, 1, 16), _ALIKE),
    "avgpool-half-sum": Twins(_square_pool(64), _square_pool(8), Data(0.0, 6.0)),
    "softmax-least-exponential": Twins(_softmax(2000), _softmax(32), Data(-20.0, -15.0, first=0.0)),
    "tanh-rational": Twins(
        _flat("activation", 64, _TANH), _flat("activation", 64, _TANH), Data(1.0, 3.0), Data(-0.3, 0.3)
    ),
    "tanh-saturated": Twins(
        _flat("activation", 64, _TANH), _flat("activation", 64, _TANH), Data(4.01, 4.2), Data(-3.9, 3.9)
    ),
}
"""Hazard, without its type, to its two calls."""
LARGE = {"f32": 1e-4, "f16": 5e-3}
"""Part of the larger of a result and 0.5 by which one is off where an `inexact` row is taken for seen."""
