"""Intervals through operators with several operands that are broadcast."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from onnxlint_cmsis.model.interval_axes import fits, ranked
from onnxlint_cmsis.model.intervals import Interval, either, finite, hull, point
from onnxlint_cmsis.operators.curve_values import FAST_GELU, bent
from onnxlint_cmsis.operators.interval_arithmetic import Pair, add, divide, divide_whole, multiply

if TYPE_CHECKING:
    from onnxlint_cmsis.model.graph import Node
    from onnxlint_cmsis.operators.views import ValueRule, ValueView


def pair_values(pair: Pair) -> ValueRule:
    """A function of two variables, or of any number taken two by two, with broadcasting."""
    return lambda node, view: _pairs(node, view, pair)


def _pairs(node: Node, view: ValueView, pair: Pair) -> Interval | None:
    operands = [view.input(node, position) for position in range(len(node.inputs)) if node.has(position)]
    known = [operand for operand in operands if operand is not None]
    rounding = view.rounding(node)
    if "broadcast" in node.attributes or len(known) < len(operands) or not known or not _fit(*known):
        return None
    return reduce(lambda left, right: pair(left, right, rounding), known)


def _fit(*operands: Interval) -> bool:
    return fits(*(operand.low.shape for operand in operands))


def mean_values(node: Node, view: ValueView) -> Interval | None:
    """Mean of any number of operands."""
    total, count = _pairs(node, view, add), sum(map(bool, node.inputs))
    return None if total is None else share(total, count, view.rounding(node))


def share(total: Interval, count: int, rounding: float) -> Interval:
    """Mean of so many numbers with a sum."""
    return multiply(total, point(1 / count), rounding)


def quotient_values(node: Node, view: ValueView) -> Interval | None:
    """A product with the inverses if all divisors are known: signs may differ though no divisor is 0."""
    rounding, left = view.rounding(node), view.input(node, 0)
    inverse = view.inverse(node, 1) if rounding else None
    if inverse is None or left is None:
        return _pairs(node, view, divide if rounding else divide_whole)
    return multiply(left, inverse, rounding)


def choice_values(node: Node, view: ValueView) -> Interval | None:
    """One of two inputs, whatever the condition."""
    left, right = view.input(node, 1), view.input(node, 2)
    condition = view.input_shape(node, 0)
    if left is None or right is None or condition is None or not _fit(left, right):
        return None
    return ranked(hull(left, right), len(condition))


def loose_values(node: Node, view: ValueView) -> Interval | None:
    """Any finite number of finite ones, but 0 of 0: what Dropout may make in training."""
    x = view.input(node, 0)
    if x is None or (not node.has(2) and node.opset >= 7):
        return x
    return either(x.zero, x, finite(x))


def biased_gelu(node: Node, view: ValueView) -> Interval | None:
    """Gelu of a sum with a bias."""
    x, rounding = view.input(node, 0), view.rounding(node)
    bias = view.input(node, 1) if node.has(1) else point(0.0)
    if x is None or bias is None or not _fit(x, bias):
        return None
    return bent(add(x, bias, rounding), FAST_GELU, node, rounding)
