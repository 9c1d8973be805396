"""How activations lie in memory: what Transpose and Reshape make of one without moving a byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, replace
from math import prod
from typing import Any, ClassVar, Protocol, TypeVar

from onnxlint_cmsis.ground.records import dataclass

Places = list[tuple[int, int]]
"""For each loop from the outermost, how often it runs and how many elements it goes on in the source."""


class Laid(Protocol):
    """A frozen dataclass that says where the elements of a tensor lie."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the ONNX tensor."""

    @property
    def order(self) -> tuple[int, ...]:
        """ONNX axes from slowest to fastest in memory: (0, 2, 3, 1) is NHWC."""

    @property
    def folded_from(self) -> Laid | None:
        """Where memory order and the shape's row-major order differ after a Reshape: the value before it."""


@dataclass(frozen=True)
class Stored:
    """Where the elements of a tensor lie."""

    shape: tuple[int, ...]
    """Sizes of the ONNX tensor."""
    order: tuple[int, ...]
    """ONNX axes from slowest to fastest in memory."""
    folded_from: Stored | None = None
    """The value before a Reshape of which the order of this shape's axes does not tell."""


LaidT = TypeVar("LaidT", bound=Laid)


def channels_last(rank: int) -> tuple[int, ...]:
    """The order in which CMSIS-NN has the axes of an NCHW, NCW or lower-rank tensor."""
    return (0, *range(2, rank), 1) if rank > 2 else tuple(range(rank))


def strides_of(value: Laid) -> dict[int, int]:
    """Elements from one index of each ONNX axis to the next."""
    sizes = [value.shape[axis] for axis in value.order]
    return {axis: prod(sizes[position + 1 :]) for position, axis in enumerate(value.order)}


def moved_places(value: Laid, order: Sequence[int]) -> Places:
    """The copy that brings a value into another memory order."""
    strides = strides_of(value)
    return [(value.shape[axis], strides[axis]) for axis in order]


def same_memory(shape: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Tell whether two orders of a shape lay its elements out alike; axes of size 1 do not count."""
    return [axis for axis in first if shape[axis] != 1] == [axis for axis in second if shape[axis] != 1]


def lies_in(value: Laid, order: tuple[int, ...]) -> bool:
    """Tell whether the value's memory is in this order."""
    return value.folded_from is None and same_memory(value.shape, value.order, order)


def row_major(value: Laid) -> bool:
    """Tell whether memory has the elements in ONNX's own order."""
    return lies_in(value, tuple(range(len(value.shape))))


def transposed(value: LaidT, permutation: tuple[int, ...]) -> LaidT:
    """The same memory seen after ONNX's Transpose."""
    shape = tuple(value.shape[axis] for axis in permutation)
    order = tuple(permutation.index(axis) for axis in value.order)
    return replace(value, shape=shape, order=order, folded_from=None)


def reshaped(value: LaidT, shape: tuple[int, ...]) -> LaidT:
    """The same memory seen after ONNX's Reshape, whatever its order."""
    if prod(shape) != prod(value.shape):
        raise ValueError(f"{value.shape} has not as many elements as {shape}")
    before = value.folded_from or value
    if before.shape == shape:
        return replace(value, shape=shape, order=before.order, folded_from=before.folded_from)
    order = tuple(range(len(shape)))
    source = None if row_major(value) else (value.folded_from or value)
    return replace(value, shape=shape, order=order, folded_from=source)
