"""Sizes as data, such as the target of a RESHAPE behind an open batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from onnxlint_cmsis.formats.tflite.operand_sizes import Operands


def picked(operands: Operands) -> list[int]:
    """STRIDED_SLICE of a vector."""
    operands.shape(0, 1)
    begin, end, step = (operands.number(position) for position in (1, 2, 3))
    first = None if operands.option("begin_mask") & 1 else begin
    if operands.option("shrink_axis_mask") & 1:
        return [operands.numbers(0)[first or 0]]
    return operands.numbers(0)[first : None if operands.option("end_mask") & 1 else end : step]


def joined_numbers(operands: Operands) -> list[int]:
    """PACK, CONCATENATION of scalars or vectors."""
    return [number for position in range(len(operands.node.inputs)) for number in operands.numbers(position)]


LISTS: Mapping[str, Callable[[Operands], list[int]]] = {
    "SHAPE": lambda operands: [*operands.shape()],
    "STRIDED_SLICE": picked,
    "PACK": joined_numbers,
    "CONCATENATION": joined_numbers,
    "MUL": lambda operands: [operands.number(0) * operands.number(1)],
}
"""Numbers of a scalar or a vector, by operator."""
