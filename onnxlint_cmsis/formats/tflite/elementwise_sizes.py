"""Sizes of the results of functions element by element, and of what takes elements together."""

from __future__ import annotations

from onnxlint_cmsis.formats.tflite.operand_sizes import Operands, Shape, axis_from_start, broadcast, needs, without


def same(operands: Operands) -> list[Shape]:
    """The size of the first operand."""
    return [operands.shape()]


def along(operands: Operands) -> list[Shape]:
    """CUMSUM, REVERSE_V2: the size of the first operand, whose axes are input 1 where that is a constant."""
    shape = operands.shape()
    for axis in operands.view.ints(operands.node, 1) or ():
        axis_from_start(axis, len(shape))
    return [shape]


def alike(operands: Operands) -> list[Shape]:
    """Operands of one size, which broadcast nothing."""
    shapes = {operands.shape(position) for position in range(len(operands.node.inputs))}
    needs(len(shapes) == 1, "its operands differ in size")
    return [*shapes]


def pair(operands: Operands) -> list[list[int]]:
    """Two operands and more that broadcast."""
    needs(bool(operands.node.inputs), "it has no operands")
    return [broadcast(*(operands.shape(position) for position in range(len(operands.node.inputs))))]


def reduction(operands: Operands) -> list[list[int]]:
    """MEAN, SUM and their like: axes are input 1."""
    shape = operands.shape()
    axes = {axis_from_start(axis, len(shape)) for axis in operands.numbers(1)}
    kept = operands.option("keep_dims")
    return [[1 if axis in axes else size for axis, size in enumerate(shape) if kept or axis not in axes]]


def chosen(operands: Operands) -> list[list[int]]:
    """ARG_MAX, ARG_MIN: the axis is input 1."""
    shape = operands.shape()
    return [without(shape, axis_from_start(operands.number(1), len(shape)))]


def largest(operands: Operands) -> list[list[int]]:
    """TOPK_V2: values and places."""
    shape, count = operands.shape(), operands.number(1)
    needs(bool(shape) and count <= shape[-1], "it takes more elements than there are")
    return [[*shape[:-1], count]] * 2
