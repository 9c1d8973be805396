"""Values through operators that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes.curves import CURVES, bent
from onnxlint_cmsis.dims.lanes.facts import Facts, has, real_attribute
from onnxlint_cmsis.dims.lanes.known import SLACK, Known

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats, Mask
    from onnxlint_cmsis.graph.model import Node

Forward = Callable[["Node", Facts], "Known | None"]
"""What is known of a node's first output; None where nothing is."""


def curve(node: Node, facts: Facts) -> Known | None:
    """Any function of `CURVES`."""
    known = facts.input(node, 0)
    return None if known is None else bent(known, CURVES[node.op_type], node)


def same(node: Node, facts: Facts) -> Known | None:
    """The input itself."""
    return facts.input(node, 0)


def clip(node: Node, facts: Facts) -> Known | None:
    """Limits from attributes or from inputs 1 and 2."""
    known = facts.input(node, 0)
    low = facts.scalar(node, 1, real_attribute(node, "min", -math.inf))
    high = facts.scalar(node, 2, real_attribute(node, "max", math.inf))
    if known is None or math.isnan(low) or math.isnan(high):
        return None
    return known.map(lambda x: np.minimum(np.maximum(x, low), high))


def cast(node: Node, facts: Facts) -> Known | None:
    """To integers towards zero; to a real type by rounding, which only large numbers need."""
    known = facts.input(node, 0)
    target = facts.elem_type(node.outputs[0])
    if known is None or target == "bool":
        return None
    source = facts.elem_type(node.inputs[0])
    if "int" in source:
        return known if "int" in target else known.only(np.abs(known.low) < 2**24)
    if "int" in target:
        return known.map(np.trunc)
    return known if source == target else known.widened(np.where(known.zero, 0, SLACK * np.abs(known.low)))


def dropout(node: Node, facts: Facts) -> Known | None:
    """The input, outside training."""
    return None if has(node, 2) or node.opset < 7 else facts.input(node, 0)


def add(left: Known, right: Known, real: bool) -> Known:
    """Sum."""
    made = Known(left.low + right.low, left.high + right.high)
    inexact = np.asarray(real & ~(left.zero | right.zero | made.zero))
    return _rounded(made, np.abs(left.low) + np.abs(right.low), inexact)


def subtract(left: Known, right: Known, real: bool) -> Known:
    """Difference."""
    return add(left, Known(-right.high, -right.low), real)


def multiply(left: Known, right: Known, real: bool) -> Known:
    """Product. Of integers, 0 times anything is 0; of real numbers not, as that may be NaN or infinite."""
    products = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    low, high = np.minimum.reduce(products), np.maximum.reduce(products)
    made = _rounded(Known(low, high), np.abs(low), np.asarray(real))
    if real:
        return made
    zero = left.zero | right.zero
    return Known(np.where(zero, 0, made.low), np.where(zero, 0, made.high))


def divide(left: Known, right: Known, real: bool) -> Known | None:
    """Quotient of real numbers; live where the divisor may be 0."""
    if not real:
        return None
    safe = right.only((right.low > 0) | (right.high < 0))
    return multiply(left, Known(1 / safe.high, 1 / safe.low), real)


def maximum(left: Known, right: Known, _real: bool) -> Known:
    """The larger one."""
    return Known(np.maximum(left.low, right.low), np.maximum(left.high, right.high))


def minimum(left: Known, right: Known, _real: bool) -> Known:
    """The smaller one."""
    return Known(np.minimum(left.low, right.low), np.minimum(left.high, right.high))


def prelu(left: Known, slope: Known, real: bool) -> Known:
    """Times the slope below 0; live where bounds are on both sides of it."""
    scaled = multiply(left, slope, real)
    positive, negative = left.low >= 0, left.high < 0
    made = Known(np.where(positive, left.low, scaled.low), np.where(positive, left.high, scaled.high))
    return made.only(positive | negative)


def _rounded(made: Known, size: Floats, where: Mask) -> Known:
    margin = np.where(where, SLACK * size, 0)
    return made.widened(margin) if margin.any() else made


Combine = Callable[[Known, Known, bool], "Known | None"]

PAIRS: dict[str, Combine] = {
    "Add": add,
    "Div": divide,
    "Max": maximum,
    "Min": minimum,
    "Mul": multiply,
    "PRelu": prelu,
    "Sub": subtract,
    "Sum": add,
}
"""Functions of two variables, or of any number taken two by two."""


def pair(node: Node, facts: Facts) -> Known | None:
    """Any function of `PAIRS`, with broadcasting."""
    operands = [facts.input(node, position) for position in range(len(node.inputs))]
    real = "float" in facts.elem_type(node.outputs[0]) or not facts.elem_type(node.outputs[0])
    made, *rest = operands
    for operand in rest:
        made = None if made is None or operand is None else PAIRS[node.op_type](made, operand, real)
    return None if "broadcast" in node.attributes else made


FORWARD: dict[str, Forward] = {
    **dict.fromkeys(CURVES, curve),
    **dict.fromkeys(PAIRS, pair),
    "Cast": cast,
    "Clip": clip,
    "Dropout": dropout,
    "Identity": same,
}
"""Operators of the default domain that work element by element."""
