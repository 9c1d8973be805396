"""Weights and bias that a layer gets: those of the file, with what behind it goes into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.lower.operands import operands, parameters_of
from onnxlint_cmsis.lower.real_values import along, dequantized, real_values
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.registry import operator_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.lower.real_values import Read

    Numbers = NDArray[np.float64]

_EPSILON = 1e-5


class FoldedWeights(NamedTuple):
    """Real weights and bias of a layer."""

    weights: Numbers
    """Output channels first."""
    bias: Numbers
    """One for each output channel."""


def folded(graph: Graph, read: Read, record: LoweredLayer) -> FoldedWeights | None:
    """Weights and bias of a layer; None where they are not stored, or what is folded in is not known."""
    made = _own(graph, read, record)
    tensor = record.node.outputs[0]
    for node in record.epilogue.absorbed if record.epilogue else ():
        made = _with(graph, read, node, tensor, made) if made else None
        tensor = node.outputs[0]
    return made


def _own(graph: Graph, read: Read, record: LoweredLayer) -> FoldedWeights | None:
    node, layer = record.node, record.layer
    where = operands(node.domain, node.op_type)
    weights = _stored_weights(graph, read, node, where.weights)
    if weights is None or layer is None:
        return None
    dense = layer.call.entry.startswith("fully_connected")
    if dense and not node.int("transB"):
        weights = weights.T
    channels = weights.shape[0]
    bias = np.zeros(channels)
    if 0 <= where.bias < len(node.inputs) and node.inputs[where.bias]:
        stored = _bias(graph, read, node, where.bias)
        if stored is None or stored.size not in (1, channels):
            return None
        bias = np.broadcast_to(stored.reshape(-1), (channels,)) * _factor(node, "beta")
    return FoldedWeights(weights * _factor(node, "alpha"), bias)


def _stored_weights(graph: Graph, read: Read, node: Node, position: int) -> Numbers | None:
    """Real numbers of the weights, whose scales the operator may carry itself: one for each output channel."""
    values = real_values(graph, read, node.inputs[position])
    carried = parameters_of(node, position)
    if carried is None or values is None:
        return values
    scale = real_values(graph, read, node.inputs[carried.scale])
    given = 0 <= carried.zero_point < len(node.inputs) and bool(node.inputs[carried.zero_point])
    zero = real_values(graph, read, node.inputs[carried.zero_point]) if given else np.zeros(1)
    if scale is None or zero is None:
        return None
    return dequantized(values, scale, zero, operator_of(node).roles.channel_axis(node, position, values.ndim))


def _bias(graph: Graph, read: Read, node: Node, position: int) -> Numbers | None:
    """The bias in real numbers; that of an operator on integers has the scale of its products."""
    values = real_values(graph, read, node.inputs[position])
    where = operands(node.domain, node.op_type)
    carried = [parameters_of(node, place) for place in (where.activation, where.weights)]
    scales = [real_values(graph, read, node.inputs[each.scale]) for each in carried if each]
    if values is None:
        return None
    values = values.reshape(-1)
    for scale in scales:
        if scale is None or (1 not in (scale.size, values.size) and scale.size != values.size):
            return None
        values = values * scale.reshape(-1)
    return values


def _factor(node: Node, name: str) -> float:
    value = node.attributes.get(name, 1.0)
    return float(value) if isinstance(value, (int, float)) else 1.0


def _with(graph: Graph, read: Read, node: Node, tensor: str, made: FoldedWeights) -> FoldedWeights | None:
    """With a node behind taken in; a node that computes nothing leaves all as it is."""
    if node.is_op("BatchNormalization"):
        return _normalized(graph, read, node, made)
    if not node.is_op("Add", "Sub", "Mul", "Div"):
        return made
    other = next(name for name in node.inputs if name != tensor)
    numbers = real_values(graph, read, other)
    if numbers is None or numbers.size not in (1, made.bias.size):
        return None
    first = node.inputs[0] == tensor
    flat = numbers.reshape(-1)
    if node.is_op("Mul", "Div"):
        return _scaled(made, flat if node.is_op("Mul") else 1 / flat)
    sign = -1.0 if node.is_op("Sub") and not first else 1.0
    return FoldedWeights(sign * made.weights, sign * made.bias + (-flat if node.is_op("Sub") and first else flat))


def _scaled(made: FoldedWeights, factor: Numbers) -> FoldedWeights:
    return FoldedWeights(made.weights * along(factor, made.weights.ndim, 0), made.bias * factor)


def _normalized(graph: Graph, read: Read, node: Node, made: FoldedWeights) -> FoldedWeights | None:
    stored = [real_values(graph, read, name) for name in node.inputs[1:5]]
    numbers = [values.reshape(-1) for values in stored if values is not None and values.size in (1, made.bias.size)]
    if len(numbers) < 4:  # damaged files have fewer, or vectors for another number of channels
        return None
    scale, shift, mean, variance = numbers
    epsilon = node.attributes.get("epsilon", _EPSILON)
    factor = scale / np.sqrt(variance + (float(epsilon) if isinstance(epsilon, (int, float)) else _EPSILON))
    found = _scaled(made, factor)
    return FoldedWeights(found.weights, found.bias - mean * factor + shift)
