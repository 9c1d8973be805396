"""Input positions of activation, weights and quantization parameters, from an operator's record."""

from __future__ import annotations

from onnxlint_cmsis.graph.model import Node
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.operators.registry import operator_named, operator_of
from onnxlint_cmsis.operators.roles import Quantized


class Operands(NamedTuple):
    """Input positions of a layer; -1 where the operator has none."""

    activation: int
    """Activation."""
    weights: int
    """Weights, or the second activation."""
    quantized: tuple[Quantized, ...] = ()
    """Values whose scale and zero-point the operator carries itself."""
    bias: int = -1
    """Bias."""
    step: int = 0
    """Distance from one operand to the next where there may be any number of them, 0 where not."""


def operands(domain: str, op_type: str) -> Operands:
    """Input positions of an operator; an unknown one reads one activation, at position 0."""
    roles = operator_named(domain, op_type).roles
    return Operands(roles.data[0] if roles.data else 0, roles.second, roles.quantized, roles.bias, roles.step)


def activations_of(node: Node) -> tuple[int, ...]:
    """Positions of a node's operands: the activation, and the operands that it is joined or paired with."""
    where = operands(node.domain, node.op_type)
    if where.step:
        return tuple(range(where.activation, len(node.inputs), where.step))
    return tuple(place for place in (where.activation, where.weights) if 0 <= place < len(node.inputs))


def operands_of(node: Node) -> tuple[str, ...]:
    """Tensors at these positions, those that are omitted left out."""
    return tuple(node.inputs[place] for place in activations_of(node) if node.inputs[place])


def parameters_of(node: Node, value: int) -> Quantized | None:
    """Positions of scale and zero-point of one of a node's inputs, -1 for its output; None where it carries none."""
    places = operator_of(node).roles.quantized_of(len(node.inputs))
    return next((each for each in places if each.value == value and each.scale >= 0), None)
