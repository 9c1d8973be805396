"""Values to and from integers, and operators that carry scales and zero-points themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.dims.lanes import elementwise
from onnxlint_cmsis.dims.lanes.curves import CURVES, bent
from onnxlint_cmsis.dims.lanes.facts import RANGES, Facts
from onnxlint_cmsis.dims.lanes.known import SLACK, Known

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.lanes.known import Floats
    from onnxlint_cmsis.graph.model import Node

NEAR = 2.0**-10
"""How far, in steps of the result, an operator that works in integers may be from the real value before rounding."""


def parameter(node: Node, facts: Facts, position: int, default: float) -> Floats:
    """Scale or zero-point of a Q/DQ node, shaped to go along the axis it is for; NaN where it is not known."""
    values = facts.vector(node, position, default)
    rank = len(facts.shape(node.inputs[0]) or ())
    axis = 0 if rank == 1 else node.int("axis", 1)
    if len(values) == 1:
        return values.reshape((1,) * rank)
    if not -rank <= axis < rank or facts.shape(node.inputs[0]) is None:
        return np.full((1,) * rank, np.nan)
    return values.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


def dequantize(node: Node, facts: Facts) -> Known | None:
    """(x - zero-point) * scale in float32."""
    known, scale = facts.input(node, 0), parameter(node, facts, 1, np.nan)
    zero = parameter(node, facts, 2, 0.0)
    if known is None or node.int("block_size"):
        return None
    return known.map(lambda x: ((x - zero).astype(np.float32) * scale.astype(np.float32)).astype(np.float64))


def quantize(node: Node, facts: Facts) -> Known | None:
    """Division by the scale in float32, rounded half to even, plus the zero-point, saturated."""
    known, scale = facts.input(node, 0), parameter(node, facts, 1, np.nan)
    if known is None or node.int("block_size") or node.int("precision") or not (scale > 0).all():
        return None
    steps = known.map(lambda x: (x.astype(np.float32) / scale.astype(np.float32)).astype(np.float64))
    return rounded(steps, parameter(node, facts, 2, 0.0), facts.elem_type(node.outputs[0]))


def rounded(steps: Known, zero: Floats | float, elem_type: str) -> Known | None:
    """Real numbers of steps as saturated integers; live where the bounds round to different ones."""
    if "int" not in elem_type or elem_type not in RANGES:
        return None
    low, high = RANGES[elem_type]
    made = steps.map(lambda x: np.clip(np.rint(x) + zero, low, high))
    return Known(made.low, made.low).only(made.low == made.high)


def requantized(real: Known, node: Node, facts: Facts, position: int) -> Known | None:
    """A real value in the output's own scale (input `position`) and zero-point (the next)."""
    scale, zero = facts.scalar(node, position, np.nan), facts.scalar(node, position + 1, 0.0)
    if not scale > 0:
        return None
    steps = real.map(lambda x: x / scale)
    margin = np.where(steps.zero, 0, NEAR + SLACK * np.abs(steps.low))
    return rounded(steps.widened(margin), zero, facts.elem_type(node.outputs[0]))


def real_input(node: Node, facts: Facts, position: int) -> Known | None:
    """An input with its scale and zero-point in the two places after it, as real numbers."""
    known = facts.input(node, position)
    scale, zero = facts.scalar(node, position + 1, np.nan), facts.scalar(node, position + 2, 0.0)
    return None if known is None else known.map(lambda x: (x - zero) * scale)


def _binary(combine: elementwise.Combine, *, real: bool) -> elementwise.Forward:
    def forward(node: Node, facts: Facts) -> Known | None:
        left, right = real_input(node, facts, 0), real_input(node, facts, 3)
        made = None if left is None or right is None else combine(left, right, real)
        return None if made is None else requantized(_unsure(made), node, facts, 6)

    return forward


def _unsure(made: Known) -> Known:
    return made.widened(np.where(made.zero, 0, SLACK * np.abs(made.low)))


def _curve(op_type: str) -> elementwise.Forward:
    def forward(node: Node, facts: Facts) -> Known | None:
        known = real_input(node, facts, 0)
        if known is None:
            return None
        return requantized(_unsure(bent(known, CURVES[op_type], node)), node, facts, 3)

    return forward


FORWARD: dict[tuple[str, str], Callable[[Node, Facts], Known | None]] = {
    ("", "DequantizeLinear"): dequantize,
    ("", "QuantizeLinear"): quantize,
    ("com.microsoft", "DequantizeLinear"): dequantize,
    ("com.microsoft", "QuantizeLinear"): quantize,
    ("com.microsoft", "QLinearAdd"): _binary(elementwise.add, real=True),
    ("com.microsoft", "QLinearMul"): _binary(elementwise.multiply, real=False),
    ("com.microsoft", "QLinearLeakyRelu"): _curve("LeakyRelu"),
    ("com.microsoft", "QLinearSigmoid"): _curve("Sigmoid"),
}
"""Operators with scales and zero-points, by domain and operator."""
