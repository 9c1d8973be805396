"""Where each operator keeps its activation, weights and weight scales: one row per operator."""

from __future__ import annotations

from typing import NamedTuple


class Operands(NamedTuple):
    """Input positions of a layer; -1 where the operator has none."""

    activation: int
    """Activation."""
    weights: int
    """Weights, or the second activation."""
    weight_scale: int = -1
    """Scale of the weights, for operators that carry it themselves."""


OPERANDS: dict[tuple[str, str], Operands] = {
    ("", "Conv"): Operands(0, 1),
    ("", "ConvInteger"): Operands(0, 1),
    ("", "QLinearConv"): Operands(0, 3, 4),
    ("com.microsoft", "FusedConv"): Operands(0, 1),
    ("", "ConvTranspose"): Operands(0, 1),
    ("", "Gemm"): Operands(0, 1),
    ("com.microsoft", "QGemm"): Operands(0, 3, 4),
    ("", "MatMul"): Operands(0, 1),
    ("", "MatMulInteger"): Operands(0, 1),
    ("", "QLinearMatMul"): Operands(0, 3, 4),
    ("com.microsoft", "FusedMatMul"): Operands(0, 1),
    ("com.microsoft", "DynamicQuantizeMatMul"): Operands(0, 1, 2),
    ("com.microsoft", "MatMulIntegerToFloat"): Operands(0, 1, 3),
    ("", "Add"): Operands(0, 1),
    ("", "Mul"): Operands(0, 1),
    ("com.microsoft", "QLinearAdd"): Operands(0, 3),
    ("com.microsoft", "QLinearMul"): Operands(0, 3),
    ("", "Max"): Operands(0, 1),
    ("", "Min"): Operands(0, 1),
    ("", "Sum"): Operands(0, 1),
    ("com.microsoft", "QLinearConcat"): Operands(2, -1),
}
"""Operators that do not appear read one activation, at position 0."""

CONVOLUTIONS = (("", "Conv"), ("", "ConvInteger"), ("", "QLinearConv"), ("com.microsoft", "FusedConv"))
"""Convolutions that may take over the padding in front of them."""


def operands(domain: str, op_type: str) -> Operands:
    """Input positions of an operator."""
    return OPERANDS.get((domain, op_type), Operands(0, -1))
