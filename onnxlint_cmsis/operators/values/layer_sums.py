"""Results of convolutions and matrix products: the sum of products, the bias, and what follows in the same node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.algebra.interval import Interval, number, unknown
from onnxlint_cmsis.algebra.number_types import SLACK, as_stored
from onnxlint_cmsis.algebra.spread import fits, lay
from onnxlint_cmsis.operators.roles import Form, Sums
from onnxlint_cmsis.operators.values.curves import activated
from onnxlint_cmsis.operators.values.pairs import add, multiply
from onnxlint_cmsis.operators.values.scaling import requantized
from onnxlint_cmsis.operators.values.value_view import LayerSum, ValueView, has, real_attribute

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Node


def layer_values(node: Node, view: ValueView) -> Interval | None:
    """Sum, bias and summand; the scales of integers; the activation that ONNX Runtime fuses."""
    found, roles = view.layer_sum(node), view.roles(node)
    if found is None:
        return None
    if roles.sums is Sums.INTEGERS:
        return _integers(node, view, found)
    total = found.total if roles.sums is Sums.FLOAT else multiply(found.total, _unit(node, view, found), SLACK)
    for place in (roles.bias, roles.summand):
        if has(node, place):
            added = view.input(node, place)
            if added is None:
                return None
            added = _placed(added, node, view, total.low.ndim)
            if not fits(total.low.shape, added.low.shape):
                return None
            total = add(total, added, view.rounding(node))
            maker = view.graph.producers.get(node.inputs[place])
            if maker is not None and maker.op_type == "DequantizeLinear":  # may run in integers, scaled afterwards
                total = total.rounded(SLACK)
    return activated(total, node, view.rounding(node))


def _integers(node: Node, view: ValueView, found: LayerSum) -> Interval | None:
    """An integer sum, by itself or times the scales in the steps of the result."""
    roles, total = view.roles(node), found.total
    if has(node, roles.bias):
        bias = view.input(node, roles.bias)
        if bias is None:
            return None
        total = add(total, _placed(bias, node, view, total.low.ndim), 0.0)
    total = as_stored(total, "int32")
    result = next((triple for triple in roles.quantized if triple.value < 0), None)
    if result is None:
        return total
    real = multiply(total, _unit(node, view, found), 0.0)
    return requantized(real, node, view) if has(node, result.scale) else real.rounded(SLACK)


def _placed(added: Interval, node: Node, view: ValueView, rank: int) -> Interval:
    """A bias as it meets the result: along the channels of a convolution, or broadcast and times beta."""
    if view.roles(node).form in (Form.CONVOLUTION, Form.TRANSPOSED):
        return lay(added, 1, rank) if added.low.ndim == 1 else added
    return multiply(added, number(real_attribute(node, "beta", 1.0)), 0.0)


def _unit(node: Node, view: ValueView, found: LayerSum) -> Interval:
    """Product of the scales of data and weights; unknown where the data has several."""
    unit = number(real_attribute(node, "alpha", 1.0))
    for triple in view.roles(node).quantized:
        if triple.value >= 0 and triple.scale >= 0:
            scale = view.input(node, triple.scale)
            if scale is None:
                return unknown(0)
            if scale.low.size == 1:
                scale = scale.moved(lambda array: array.reshape(()))
            elif scale.low.ndim == 1 and triple.value == found.weights:
                scale = lay(scale, found.axis, found.total.low.ndim)
            else:
                return unknown(0)
            unit = multiply(unit, scale, 0.0)
    return unit
