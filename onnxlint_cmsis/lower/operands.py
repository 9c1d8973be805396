"""Where each operator keeps its activation, its weights and its parameters of quantization: one row per operator."""

from __future__ import annotations

from typing import NamedTuple

from onnxlint_cmsis.graph.model import Node


class Quantized(NamedTuple):
    """A quantized value among an operator's inputs, with its parameters."""

    value: int
    """Input that holds it; -1 for the first output."""
    scale: int
    """Input with its scale."""
    zero_point: int
    """Input with its zero-point."""


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


def _triples(*places: int) -> tuple[Quantized, ...]:
    return tuple(Quantized(place, place + 1, place + 2) for place in places)


def _result(scale: int) -> Quantized:
    return Quantized(-1, scale, scale + 1)


_MS = "com.microsoft"

OPERANDS: dict[tuple[str, str], Operands] = {
    ("", "Conv"): Operands(0, 1, bias=2),
    ("", "ConvInteger"): Operands(0, 1),
    ("", "QLinearConv"): Operands(0, 3, (*_triples(0, 3), _result(6)), 8),
    (_MS, "FusedConv"): Operands(0, 1, bias=2),
    ("", "ConvTranspose"): Operands(0, 1, bias=2),
    ("", "Gemm"): Operands(0, 1, bias=2),
    (_MS, "QGemm"): Operands(0, 3, (*_triples(0, 3), _result(7)), 6),
    ("", "MatMul"): Operands(0, 1),
    ("", "MatMulInteger"): Operands(0, 1),
    ("", "QLinearMatMul"): Operands(0, 3, (*_triples(0, 3), _result(6))),
    (_MS, "FusedMatMul"): Operands(0, 1),
    (_MS, "DynamicQuantizeMatMul"): Operands(0, 1, (Quantized(1, 2, 3),)),
    (_MS, "MatMulIntegerToFloat"): Operands(0, 1, (Quantized(0, 2, 4), Quantized(1, 3, 5))),
    ("", "Add"): Operands(0, 1),
    ("", "Mul"): Operands(0, 1),
    ("", "Sub"): Operands(0, 1),
    ("", "Div"): Operands(0, 1),
    (_MS, "QLinearAdd"): Operands(0, 3, (*_triples(0, 3), _result(6))),
    (_MS, "QLinearMul"): Operands(0, 3, (*_triples(0, 3), _result(6))),
    ("", "Max"): Operands(0, 1),
    ("", "Min"): Operands(0, 1),
    ("", "Sum"): Operands(0, 1),
    ("", "Concat"): Operands(0, -1, step=1),
    (_MS, "QLinearConcat"): Operands(2, -1, (*_triples(2), Quantized(-1, 0, 1)), step=3),
    (_MS, "QLinearAveragePool"): Operands(0, -1, (*_triples(0), _result(3))),
    (_MS, "QLinearGlobalAveragePool"): Operands(0, -1, (*_triples(0), _result(3))),
    (_MS, "QLinearSoftmax"): Operands(0, -1, (*_triples(0), _result(3))),
    (_MS, "QLinearSigmoid"): Operands(0, -1, (*_triples(0), _result(3))),
    (_MS, "QLinearLeakyRelu"): Operands(0, -1, (*_triples(0), _result(3))),
}
"""Operators that do not appear read one activation, at position 0."""

CONVOLUTIONS = (("", "Conv"), ("", "ConvInteger"), ("", "QLinearConv"), (_MS, "FusedConv"))
"""Convolutions that may take over the padding in front of them."""


def operands(domain: str, op_type: str) -> Operands:
    """Input positions of an operator."""
    return OPERANDS.get((domain, op_type), Operands(0, -1))


def activations_of(node: Node) -> tuple[int, ...]:
    """Positions of a node's operands: the activation, what is joined to it, or the second one of a pair."""
    where = operands(node.domain, node.op_type)
    if where.step:
        return tuple(range(where.activation, len(node.inputs), where.step))
    return tuple(place for place in (where.activation, where.weights) if 0 <= place < len(node.inputs))


def parameters_of(node: Node, value: int) -> Quantized | None:
    """Positions of scale and zero-point of one of a node's inputs, -1 for its output; None where it carries none."""
    where = operands(node.domain, node.op_type)
    if where.step and value > where.activation and where.quantized:
        return Quantized(value, value + 1, value + 2)
    return next((each for each in where.quantized if each.value == value), None)
