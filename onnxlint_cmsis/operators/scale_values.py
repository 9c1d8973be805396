"""Intervals to and from integers, and through operators that carry scales and zero-points themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.model.element_ranges import SLACK, limits
from onnxlint_cmsis.model.interval_axes import fits, lay
from onnxlint_cmsis.model.intervals import point
from onnxlint_cmsis.operators.curve_values import Curve, bent
from onnxlint_cmsis.operators.interval_arithmetic import PAIRS, add, divide, multiply, subtract

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.model.intervals import Floats, Interval
    from onnxlint_cmsis.operators.views import ValueRule, ValueView


NEAR = 2.0**-10
"""How far, in steps of the result, an operator that works in integers may be from the real value before rounding."""


def parameter(node: Node, view: ValueView, position: int) -> Interval | None:
    """Scale or zero-point of a Q/DQ node along the axis it is for, 0 where it is omitted; None where not known."""
    if not node.has(position):
        return point(0.0)
    numbers, shape = view.input(node, position), view.input_shape(node, 0)
    rank = len(shape or ())
    axis = 0 if rank == 1 else node.int("axis", 1)
    if numbers is None or numbers.low.size == 1:
        return None if numbers is None else numbers.moved(lambda array: array.reshape((1,) * rank))
    if shape is None or numbers.low.ndim != 1 or not -rank <= axis < rank or shape[axis] != len(numbers.low):
        return None
    return lay(numbers, axis % rank, rank)


def dequantize_values(node: Node, view: ValueView) -> Interval | None:
    """(x - zero-point) * scale in float32."""
    steps, scale, zero = view.input(node, 0), parameter(node, view, 1), parameter(node, view, 2)
    if steps is None or scale is None or zero is None:
        return None
    offset = subtract(steps, zero, 0.0)
    real = _in_float32(np.multiply, offset, scale) or multiply(offset, scale, SLACK)
    return real if view.made_type(node) == "float32" else real.rounded(view.rounding(node))


def quantize_values(node: Node, view: ValueView) -> Interval | None:
    """Division by the scale in float32, rounded half to even, plus the zero-point, saturated.

    None of unknown numbers: any integer of the type.
    """
    x = view.input(node, 0)
    if x is None or (x.fault is None and np.isnan(x.low).all()):
        return None
    scale, zero = parameter(node, view, 1), parameter(node, view, 2)
    if scale is None or zero is None or node.int("precision") or not (scale.low > 0).all():
        return None
    steps = _in_float32(np.divide, x, scale) or divide(x, scale, SLACK)
    return in_steps(steps, zero, view.made_type(node))


def _in_float32(function: Callable[..., Floats], x: Interval, scale: Interval) -> Interval | None:
    """A product or quotient with exact scales, rounded as float32 is; None where the scales are not exact."""
    if scale.low is not scale.high or not (scale.low > 0).all():
        return None
    factor = scale.low.astype(np.float32)
    return x.bent(lambda end: function(end.astype(np.float32), factor).astype(np.float64))


def in_steps(steps: Interval, zero: Interval, elem_type: str) -> Interval | None:
    """Real numbers of steps as saturated integers, which differ where the ends round to different ones."""
    if "int" not in elem_type:
        return None
    least, most = limits(elem_type)
    whole = add(steps.bent(np.rint), zero, 0.0).bent(lambda x: np.clip(x, least, most))
    return whole.unsettled(~whole.exact)


def requantized(real: Interval, node: Node, view: ValueView) -> Interval | None:
    """A real number in the steps of the result's own scale and zero-point."""
    result = view.roles(node).result
    scale, zero = view.scalar(node, result.scale), view.scalar(node, result.zero_point, 0.0)
    if not scale.low > 0:
        if not real.zero.all():
            return None
        scale = point(1.0)
    steps = divide(real, scale, 0.0)
    steps = steps.widened(*(np.where(steps.zero, 0, NEAR + SLACK * size_of_end(end)) for end in steps[:2]))
    return in_steps(steps, zero, view.made_type(node))


def size_of_end(end: Floats) -> Floats:
    """Give the size of each finite end, and 0 for the others."""
    return np.where(np.isfinite(end), np.abs(end), 0)


def real_input(node: Node, view: ValueView, position: int) -> Interval | None:
    """An input with its scale and zero-point in the two places after it, as real numbers."""
    return real_steps(view.input(node, position), node, view, position)


def real_steps(steps: Interval | None, node: Node, view: ValueView, position: int) -> Interval | None:
    """Steps of the scale and zero-point in the two places after an input, as real numbers."""
    if steps is None:
        return None
    scale, zero = view.scalar(node, position + 1), view.scalar(node, position + 2, 0.0)
    return multiply(subtract(steps, zero, 0.0), scale, 0.0)


def quantized_pair(op_type: str) -> ValueRule:
    """A function of two quantized tensors."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        left, right = (real_input(node, view, position) for position in view.roles(node).data)
        if left is None or right is None or not fits(left.low.shape, right.low.shape):
            return None
        return requantized(PAIRS[op_type](left, right, SLACK).rounded(SLACK), node, view)

    return rule


def quantized_curve(curve: Curve) -> ValueRule:
    """A function of one quantized tensor."""

    def rule(node: Node, view: ValueView) -> Interval | None:
        real = real_input(node, view, 0)
        if real is None:
            return None
        return requantized(bent(real, curve, node, SLACK).rounded(SLACK), node, view)

    return rule


def in_steps_of_result(node: Node, view: ValueView, position: int) -> bool:
    """Tell whether an input has the same scale and zero-point as the result."""
    result = view.roles(node).result
    for mine, theirs in ((position + 1, result.scale), (position + 2, result.zero_point)):
        left, right = view.scalar(node, mine, 0.0), view.scalar(node, theirs, 0.0)
        if not (left.exact and right.exact and left.low == right.low):
            return False
    return True
