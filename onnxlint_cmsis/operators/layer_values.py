"""Results of convolutions and matrix products: the sum of products, the bias, and what follows in the same node."""

from __future__ import annotations

import numpy as np

from onnxlint_cmsis.model.element_ranges import SLACK, as_stored, is_whole
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.interval_axes import fits, lay
from onnxlint_cmsis.model.intervals import Interval, point, unknown
from onnxlint_cmsis.model.roles import Form, Sums
from onnxlint_cmsis.operators.curve_values import activated
from onnxlint_cmsis.operators.interval_arithmetic import add, multiply
from onnxlint_cmsis.operators.scale_values import requantized
from onnxlint_cmsis.operators.stored_scales import stored, twice_rounded, vector_of
from onnxlint_cmsis.operators.views import LayerSum, ValueView, real_attribute


def layer_values(node: Node, view: ValueView) -> Interval | None:
    """Sum, bias and summand; the scales of integers; the activation that ends the node."""
    layer, roles = view.layer_sum(node), view.roles(node)
    if layer is None:
        return None
    if roles.sums is Sums.STORED:
        return _in_stored_scales(node, view, layer)
    if roles.sums is Sums.INTEGERS:
        return _integers(node, view, layer)
    total = layer.total if roles.sums is Sums.FLOAT else multiply(layer.total, _unit(node, view, layer), SLACK)
    for position in (roles.bias, roles.summand):
        if node.has(position):
            added = view.input(node, position)
            if added is None:
                return None
            added = _placed(added, node, view, total.low.ndim)
            if not fits(total.low.shape, added.low.shape):
                return None
            total = add(total, added, view.rounding(node))
            maker = view.graph.producers.get(node.inputs[position])
            if maker is not None and maker.op_type == "DequantizeLinear":  # may run in integers, scaled afterwards
                total = total.rounded(SLACK)
    return activated(total, node, view.rounding(node))


def _integers(node: Node, view: ValueView, layer: LayerSum) -> Interval | None:
    """An integer sum, by itself or times the scales in the steps of the result."""
    roles, total = view.roles(node), layer.total
    if node.has(roles.bias):
        bias = view.input(node, roles.bias)
        if bias is None:
            return None
        total = add(total, _placed(bias, node, view, total.low.ndim), 0.0)
    total = as_stored(total, "int32")
    if roles.result.scale < 0:
        return total
    real = multiply(total, _unit(node, view, layer), 0.0)
    return requantized(real, node, view) if node.has(roles.result.scale) else real.rounded(SLACK)


def _placed(added: Interval, node: Node, view: ValueView, rank: int) -> Interval:
    """A bias as it meets the result: along the channels of a convolution, or broadcast and times beta."""
    if view.roles(node).form in (Form.CONVOLUTION, Form.TRANSPOSED):
        return lay(added, 1, rank) if added.low.ndim == 1 else added
    return multiply(added, point(real_attribute(node, "beta", 1.0)), 0.0)


def _unit(node: Node, view: ValueView, layer: LayerSum) -> Interval:
    """Product of the scales of data and weights; unknown where the data has several."""
    unit = point(real_attribute(node, "alpha", 1.0))
    for triple in view.roles(node).quantized:
        if triple.value >= 0 and triple.scale >= 0:
            scale = view.input(node, triple.scale)
            if scale is None:
                return unknown(0)
            if scale.low.size == 1:
                scale = scale.moved(lambda array: array.reshape(()))
            elif scale.low.ndim == 1 and triple.value == layer.weights:
                scale = lay(scale, layer.axis, layer.total.low.ndim)
            else:
                return unknown(0)
            unit = multiply(unit, scale, 0.0)
    return unit


def _in_stored_scales(node: Node, view: ValueView, layer: LayerSum) -> Interval | None:
    """Sum and bias; integers times the scales of data and weights; then as the result's tensor holds it."""
    total = _with_bias(layer, node, view)
    if total is None or not is_whole(view.made_type(node)):
        return None if total is None else stored(total, node, view)
    unit = _stored_unit(layer, node, view)
    kept = view.graph.quantization.get(node.outputs[0])
    if unit is None or kept is None or not kept.scales[0] > 0:
        return None
    error = twice_rounded(unit.high / kept.scales[0])
    return stored(multiply(total, unit, 0.0), node, view, error)


def _with_bias(layer: LayerSum, node: Node, view: ValueView) -> Interval | None:
    """The sum with the bias that lies along the last axis; integers in the bias' type, int32 without one."""
    roles, total = view.roles(node), layer.total
    rank, kind = total.low.ndim, "int32"
    if node.has(roles.bias):
        bias = view.input(node, roles.bias)
        if bias is None or bias.low.ndim != 1:
            return None
        placed = lay(bias, rank - 1, rank)
        if not fits(total.low.shape, placed.low.shape):
            return None
        total, kind = add(total, placed, view.rounding(node)), view.elem_type(node.inputs[roles.bias])
    return as_stored(total, kind) if is_whole(view.made_type(node)) else total


def _stored_unit(layer: LayerSum, node: Node, view: ValueView) -> Interval | None:
    """Scale of the data times those of the weights, one for each channel where there are several."""
    data = view.graph.quantization.get(node.inputs[view.roles(node).data[0]])
    weights = view.graph.quantization.get(node.inputs[layer.weights])
    if data is None or weights is None or len(data.scales) != 1:
        return None
    rank = layer.total.low.ndim
    scales = vector_of(weights.scales, weights._replace(axis=rank - 1), rank)
    return multiply(scales, point(np.float64(data.scales[0])), 0.0)
