"""Layouts: what Transpose and Reshape make of a value without moving a byte."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware_check.program import Value


def channels_last(rank: int) -> tuple[int, ...]:
    """The order in which CMSIS-NN has the axes of an NCHW, NCW or lower-rank tensor."""
    return (0, *range(2, rank), 1) if rank > 2 else tuple(range(rank))


Places = list[tuple[int, int]]
"""For each loop from the outermost, how often it runs and how many elements it goes on in the source."""


def strides_of(value: Value) -> dict[int, int]:
    """Elements from one index of each ONNX axis to the next."""
    sizes = [value.shape[axis] for axis in value.order]
    return {axis: prod(sizes[place + 1 :]) for place, axis in enumerate(value.order)}


def moved_places(value: Value, order: tuple[int, ...]) -> Places:
    """The copy that brings a value into another memory order."""
    strides = strides_of(value)
    return [(value.shape[axis], strides[axis]) for axis in order]


def same_memory(shape: tuple[int, ...], one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two orders of a shape lay its elements out alike; axes of size 1 have no place."""
    return [axis for axis in one if shape[axis] != 1] == [axis for axis in other if shape[axis] != 1]


def lies_in(value: Value, order: tuple[int, ...]) -> bool:
    """Whether the value's memory is in this order."""
    return value.folded_from is None and same_memory(value.shape, value.order, order)


def row_major(value: Value) -> bool:
    """Whether memory has the elements in ONNX's own order."""
    return lies_in(value, tuple(range(len(value.shape))))


def transposed(value: Value, permutation: tuple[int, ...]) -> Value:
    """The same memory seen after ONNX's Transpose."""
    shape = tuple(value.shape[axis] for axis in permutation)
    order = tuple(permutation.index(axis) for axis in value.order)
    return replace(value, shape=shape, order=order, folded_from=None)


def reshaped(value: Value, shape: tuple[int, ...]) -> Value:
    """The same memory seen after ONNX's Reshape, whatever its order."""
    if prod(shape) != value.count:
        raise ValueError(f"{value.shape} has not as many elements as {shape}")
    order = tuple(range(len(shape)))
    source = None if row_major(value) else (value.folded_from or value)
    return replace(value, shape=shape, order=order, folded_from=source)
