"""Results of TensorFlow Lite's convolutions and dense layers: the sum, the bias, the activation, the result's steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.interval import Interval, number
from onnxlint_cmsis.algebra.number_types import as_stored, is_whole
from onnxlint_cmsis.algebra.spread import fits, lay
from onnxlint_cmsis.operators.values.pairs import add, multiply
from onnxlint_cmsis.operators.values.stored_scales import stored, twice_rounded, vector_of
from onnxlint_cmsis.operators.values.value_view import LayerSum, ValueView, has

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Node


def layer_result(node: Node, view: ValueView) -> Interval | None:
    """Sum and bias; integers times the scales of data and weights; then as the result's tensor holds it."""
    found = view.layer_sum(node)
    if found is None:
        return None
    total = _with_bias(found, node, view)
    if total is None or not is_whole(view.made_type(node)):
        return None if total is None else stored(total, node, view)
    unit = _unit(found, node, view)
    made = view.graph.quantization.get(node.outputs[0])
    if unit is None or made is None or not made.scales[0] > 0:
        return None
    error = twice_rounded(unit.high / made.scales[0])
    return stored(multiply(total, unit, 0.0), node, view, error)


def _with_bias(found: LayerSum, node: Node, view: ValueView) -> Interval | None:
    """The sum with the bias that lies along the last axis; integers in the bias' type, int32 without one."""
    roles, total = view.roles(node), found.total
    rank, kind = total.low.ndim, "int32"
    if has(node, roles.bias):
        bias = view.input(node, roles.bias)
        if bias is None or bias.low.ndim != 1:
            return None
        placed = lay(bias, rank - 1, rank)
        if not fits(total.low.shape, placed.low.shape):
            return None
        total, kind = add(total, placed, view.rounding(node)), view.elem_type(node.inputs[roles.bias])
    return as_stored(total, kind) if is_whole(view.made_type(node)) else total


def _unit(found: LayerSum, node: Node, view: ValueView) -> Interval | None:
    """Scale of the data times those of the weights, one for each channel where there are several."""
    data = view.graph.quantization.get(node.inputs[view.roles(node).data[0]])
    weights = view.graph.quantization.get(node.inputs[found.weights])
    if data is None or weights is None or len(data.scales) != 1:
        return None
    rank = found.total.low.ndim
    scales = vector_of(weights.scales, weights._replace(axis=rank - 1), rank)
    return multiply(scales, number(np.float64(data.scales[0])), 0.0)
