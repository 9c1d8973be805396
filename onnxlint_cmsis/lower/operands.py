"""Input positions of activation, weights and quantization parameters, from an operator's record."""

from __future__ import annotations

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.roles import Quantized


def activations_of(node: Node) -> tuple[int, ...]:
    """Positions of a node's operands: the activation, and the operands that it is joined or paired with."""
    roles = operator_of(node).roles
    if roles.step:
        return tuple(range(roles.first, len(node.inputs), roles.step))
    return tuple(position for position in (roles.first, roles.second) if 0 <= position < len(node.inputs))


def operands_of(node: Node) -> tuple[str, ...]:
    """Tensors at these positions, those that are omitted left out."""
    return tuple(node.inputs[position] for position in activations_of(node) if node.inputs[position])


def parameters_of(node: Node, value: int) -> Quantized | None:
    """Positions of scale and zero-point of one of a node's inputs, -1 for its output; None where it carries none."""
    carried = operator_of(node).roles.quantized_of(len(node.inputs))
    return next((parameters for parameters in carried if parameters.value == value and parameters.scale >= 0), None)
