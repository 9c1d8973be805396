"""Weights of a layer: which of them are 0 is seen in the numbers as stored, their values are read when asked for."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.algebra.spread import MAX_ELEMENTS
from onnxlint_cmsis.dims.lanes.weighted_sums import LaneWeights, Taps
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.values.scaling import parameter
from onnxlint_cmsis.operators.values.value_view import has

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.algebra.interval import Floats, Interval, Mask
    from onnxlint_cmsis.dims.lanes.lane_view import LaneView
    from onnxlint_cmsis.graph.model import Node


def lane_weights(view: LaneView, node: Node, position: int, channels: int) -> LaneWeights | None:
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


def _nonzero(view: LaneView, name: str, zero: Floats) -> Mask | None:
    """Where weights are not their zero-point, without making numbers of them; None where that takes more."""
    array = view.stored(name)
    if array is not None:
        return _differs(array, zero)
    maker = view.graph.producers.get(name)
    if maker is None or not operator_of(maker).dequantizes or zero.any() or view.is_disproved(name):
        return None
    triple = next(each for each in operator_of(maker).roles.quantized if each.value >= 0)
    array = view.stored(maker.inputs[triple.value]) if has(maker, triple.value) else None
    scale, steps_zero = (parameter(maker, view, place) for place in (triple.scale, triple.zero_point))
    if array is None or scale is None or steps_zero is None or scale.low is not scale.high:
        return None
    keeps = np.isfinite(scale.low) & (scale.low.astype(np.float32) > 0)  # nothing else than 0 becomes 0
    return _differs(array, steps_zero.low) if keeps.all() and steps_zero.exact.all() else None


def _differs(array: NDArray[Any], zero: Floats) -> Mask:
    """Where stored numbers are another than `zero`, compared in their own type if that holds it."""
    narrow = zero.astype(array.dtype)
    return np.asarray(array != (narrow if (narrow == zero).all() else zero))
