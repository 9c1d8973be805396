"""Intervals through operators with several operands that are broadcast."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from onnxlint_cmsis.algebra.interval import Interval, either, finite, hull, number
from onnxlint_cmsis.algebra.spread import fits, ranked
from onnxlint_cmsis.operators.values.curves import FAST_GELU, bent
from onnxlint_cmsis.operators.values.pairs import PAIRS, add, divide_whole, multiply
from onnxlint_cmsis.operators.values.value_view import ValueView, has

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Node


def pair_values(node: Node, view: ValueView) -> Interval | None:
    """Any function of `PAIRS`, with broadcasting."""
    operands = [view.input(node, place) for place in range(len(node.inputs)) if has(node, place)]
    known = [operand for operand in operands if operand is not None]
    rounding = view.rounding(node)
    if "broadcast" in node.attributes or len(known) < len(operands) or not known or not _fit(*known):
        return None
    pair = divide_whole if node.op_type == "Div" and not rounding else PAIRS[node.op_type]
    return reduce(lambda left, right: pair(left, right, rounding), known)


def _fit(*operands: Interval) -> bool:
    return fits(*(operand.low.shape for operand in operands))


def mean_values(node: Node, view: ValueView) -> Interval | None:
    """Mean of any number of operands."""
    total, count = pair_values(node, view), sum(map(bool, node.inputs))
    return None if total is None else share(total, count, view.rounding(node))


def share(total: Interval, count: int, rounding: float) -> Interval:
    """Mean of so many numbers with a sum."""
    return multiply(total, number(1 / count), rounding)


def quotient_values(node: Node, view: ValueView) -> Interval | None:
    """A product with the inverses if all divisors are known: signs may differ though no divisor is 0."""
    inverse = view.inverse(node, 1) if view.rounding(node) else None
    left = view.input(node, 0)
    return pair_values(node, view) if inverse is None or left is None else multiply(left, inverse, view.rounding(node))


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
    if x is None or (not has(node, 2) and node.opset >= 7):
        return x
    return either(x.zero, x, finite(x))


def biased_gelu(node: Node, view: ValueView) -> Interval | None:
    """Gelu of a sum with a bias."""
    x, rounding = view.input(node, 0), view.rounding(node)
    bias = view.input(node, 1) if has(node, 1) else number(0.0)
    if x is None or bias is None or not _fit(x, bias):
        return None
    return bent(add(x, bias, rounding), FAST_GELU, node, rounding)
