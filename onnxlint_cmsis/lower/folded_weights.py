"""Weights and bias that a layer gets: those of the file, with what behind it goes into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.epilogue import LINEAR
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.real_values import along, dequantized, real_values
from onnxlint_cmsis.model.graph import Graph, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.lower.real_values import Read

    Numbers = NDArray[np.float64]


INTO_WEIGHTS = (*LINEAR, "BatchNormalization")
"""Operators behind a layer whose numbers go into its weights."""
_EPSILON = 1e-5


class FoldedWeights(NamedTuple):
    """Real weights and bias of a layer."""

    weights: Numbers
    """Output channels first."""
    bias: Numbers
    """One for each output channel."""


def folded(graph: Graph, read: Read, record: LoweredLayer) -> FoldedWeights | None:
    """Weights and bias of a layer; None where they are not stored, or what is folded in is not known."""
    return with_epilogue(graph, read, record, _own(graph, read, record))


def with_epilogue(graph: Graph, read: Read, record: LoweredLayer, layer: FoldedWeights | None) -> FoldedWeights | None:
    """A layer's weights and bias with what behind it goes into them; None where that is not known."""
    tensor = record.node.outputs[0]
    for node in record.epilogue.absorbed if record.epilogue else ():
        layer = taken_in(graph, read, node, tensor, layer) if layer else None
        tensor = node.outputs[0]
    return layer


def _own(graph: Graph, read: Read, record: LoweredLayer) -> FoldedWeights | None:
    layer = record.layer
    if layer is None:
        return None
    return own_weights(graph, read, record.node, dense=layer.call.function is Function.FULLY_CONNECTED)


def own_weights(graph: Graph, read: Read, node: Node, *, dense: bool) -> FoldedWeights | None:
    """Weights and bias of an operator, a bias of zeros where it has none; None where they are not stored.

    The matrix of a `dense` one has the output channels last, but for `transB`.
    """
    roles = operator_of(node).roles
    weights = _stored_weights(graph, read, node, roles.second)
    if weights is None:
        return None
    if dense and not node.int("transB"):
        weights = weights.T
    bias, alpha = own_bias(graph, read, node, weights.shape[0]), node.number("alpha", 1.0)
    return None if bias is None else FoldedWeights(weights if alpha == 1 else weights * alpha, bias)


def own_bias(graph: Graph, read: Read, node: Node, channels: int) -> Numbers | None:
    """Bias of an operator, zeros where it has none; None where it is not stored or not one for each channel."""
    position = operator_of(node).roles.bias
    if not node.has(position):
        return np.zeros(channels)
    stored = _bias(graph, read, node, position)
    if stored is None or stored.size not in (1, channels):
        return None
    return np.broadcast_to(stored.reshape(-1), (channels,)) * node.number("beta", 1.0)


def _stored_weights(graph: Graph, read: Read, node: Node, position: int) -> Numbers | None:
    """Real numbers of the weights, whose scales the operator may carry itself: one for each output channel."""
    values = real_values(graph, read, node.inputs[position])
    carried = parameters_of(node, position)
    if carried is None or values is None:
        return values
    scale = real_values(graph, read, node.inputs[carried.scale])
    point = carried.zero_point
    zero = real_values(graph, read, node.inputs[point]) if node.has(point) else np.zeros(1)
    if scale is None or zero is None:
        return None
    return dequantized(values, scale, zero, operator_of(node).roles.channel_axis(node, position, values.ndim))


def _bias(graph: Graph, read: Read, node: Node, position: int) -> Numbers | None:
    """The bias in real numbers; that of an operator on integers has the scale of its products."""
    values = real_values(graph, read, node.inputs[position])
    roles = operator_of(node).roles
    carried = [parameters_of(node, operand) for operand in (roles.first, roles.second)]
    scales = [real_values(graph, read, node.inputs[parameters.scale]) for parameters in carried if parameters]
    if values is None:
        return None
    values = values.reshape(-1)
    for scale in scales:
        if scale is None or (1 not in (scale.size, values.size) and scale.size != values.size):
            return None
        values = values * scale.reshape(-1)
    return values


def taken_in(graph: Graph, read: Read, node: Node, tensor: str, layer: FoldedWeights) -> FoldedWeights | None:
    """Weights and bias with a node behind taken in, which reads `tensor`; None where its numbers are not stored.

    A node that computes nothing leaves all as it is.
    """
    name = canonical(node)
    if name not in INTO_WEIGHTS:
        return layer
    if name == "BatchNormalization":
        return _normalized(graph, read, node, layer)
    other = next(operand for operand in node.inputs if operand != tensor)
    numbers = real_values(graph, read, other)
    if numbers is None or numbers.size not in (1, layer.bias.size):
        return None
    first = node.inputs[0] == tensor
    flat = numbers.reshape(-1)
    if name in ("Mul", "Div"):
        return _scaled(layer, flat if name == "Mul" else 1 / flat)
    sign = -1.0 if name == "Sub" and not first else 1.0
    return FoldedWeights(sign * layer.weights, sign * layer.bias + (-flat if name == "Sub" and first else flat))


def _scaled(layer: FoldedWeights, factor: Numbers) -> FoldedWeights:
    return FoldedWeights(layer.weights * along(factor, layer.weights.ndim, 0), layer.bias * factor)


def _normalized(graph: Graph, read: Read, node: Node, layer: FoldedWeights) -> FoldedWeights | None:
    stored = [real_values(graph, read, name) for name in node.inputs[1:5]]
    numbers = [values.reshape(-1) for values in stored if values is not None and values.size in (1, layer.bias.size)]
    if len(numbers) < 4:  # damaged files have fewer, or vectors for another number of channels
        return None
    scale, shift, mean, variance = numbers
    epsilon = node.attributes.get("epsilon", _EPSILON)
    factor = scale / np.sqrt(variance + (float(epsilon) if isinstance(epsilon, (int, float)) else _EPSILON))
    scaled = _scaled(layer, factor)
    return FoldedWeights(scaled.weights, scaled.bias - mean * factor + shift)
