"""Intervals through normalisations: with numbers per channel, or with the mean, deviation or sum of some axes."""

from __future__ import annotations

import numpy as np

from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.interval_axes import fits, lay
from onnxlint_cmsis.model.intervals import Fault, Interval, finite, point, within
from onnxlint_cmsis.operators.curve_values import SQRT, bent
from onnxlint_cmsis.operators.interval_arithmetic import add, divide, multiply, subtract
from onnxlint_cmsis.operators.summaries import leveled
from onnxlint_cmsis.operators.views import ValueView, real_attribute


def batch_normalization(node: Node, view: ValueView) -> Interval | None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias."""
    shape = view.input_shape(node, 0)
    if shape is None or len(shape) < 2 or node.opset < 7 or node.int("training_mode"):
        return None
    x, *vectors = (view.input(node, position) for position in range(5))
    if x is None:
        return None
    known = [lay(vector, 1, len(shape)) for vector in vectors if vector is not None and vector.low.ndim <= 1]
    if len(known) < 4 or not fits(x.low.shape, *(vector.low.shape for vector in known)):
        return None
    scale, bias, average, variance = known
    rounding, power = view.rounding(node), add(variance, point(real_attribute(node, "epsilon", 1e-5)), 0.0)
    flawed = power.flawed(~(power.low > 0) & ~np.isnan(power.low), Fault("may be NaN or infinite", variance))
    factor = divide(scale, bent(flawed, SQRT, node, 0.0), rounding)
    return add(multiply(subtract(x, average, rounding), factor, 2 * rounding), bias, 2 * rounding)


def plane_normalization(node: Node, view: ValueView) -> Interval | None:
    """Over a plane or other axes; elements that are all the same have variance 0."""
    x = leveled(node, view)
    if x is None:
        return None
    unsafe = not real_attribute(node, "epsilon", 1e-5) > 0
    return finite(x).flawed(np.full(x.low.shape, unsafe), Fault("may be NaN"))


def deviation_normalization(node: Node, view: ValueView) -> Interval | None:
    """Divided by the deviation. It is 0 where all elements are equal, as in most new lanes."""
    x = leveled(node, view)
    return None if x is None else x.flawed(np.ones(x.low.shape, bool), Fault("may be NaN"))


def norm_division(node: Node, view: ValueView) -> Interval | None:
    """Divided by the norm along an axis. The norm is 0 where all elements are 0."""
    x = leveled(node, view)
    if x is None:
        return None
    return within(x, -1.0, 1.0).flawed(x.holds(0), Fault("is NaN" if x.zero.all() else "may be NaN"))


def share_values(node: Node, view: ValueView) -> Interval | None:
    """Shares of 1."""
    x = leveled(node, view)
    return None if x is None else within(x, 0.0, 1.0)
