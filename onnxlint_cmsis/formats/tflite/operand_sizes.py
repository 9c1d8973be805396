"""Sizes and numbers of a node's operands, as rules on the sizes of results ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import Node
from onnxlint_cmsis.model.windows import reach

Shape = tuple[int, ...]


Rule = Callable[["Operands"], Sequence[Sequence[int]]]
"""Sizes of each result."""


class SizesView(Protocol):
    """What rules ask of a graph: a `NodeView` is one."""

    def input_shape(self, node: Node, position: int, /) -> tuple[Size, ...] | None:
        """Sizes of an input; None where it is omitted or its rank is unknown."""

    def elem_type(self, name: str, /) -> str:
        """Element type of a tensor, empty where it is not known."""

    def ints(self, node: Node, position: int, /) -> list[int] | None:
        """Numbers of an input; None where they are not known."""


class NotComputedError(Exception):
    """Sizes of a result do not follow from the file: the reason, as a clause."""


class MisfitError(NotComputedError):
    """Operands and options that do not go together: LiteRT refuses the operator."""


class AxisError(MisfitError):
    """An axis that an operand does not have."""


class Operands:
    """A node's operands and options; what is not known raises NotComputedError."""

    def __init__(self, node: Node, view: SizesView) -> None:
        self.node = node
        self.view = view

    def shape(self, position: int = 0, *ranks: int) -> Shape:
        """Sizes of an operand, of one of the ranks where some are given."""
        shape = self.view.input_shape(self.node, position)
        if shape is None or None in shape:
            raise NotComputedError(f"the size of input {position} is not known")
        needs(not ranks or len(shape) in ranks, f"input {position} has {len(shape)} axes")
        return tuple(size or 0 for size in shape)

    def numbers(self, position: int) -> list[int]:
        """Numbers of a constant operand of integers."""
        if self.node.has(position) and self.view.elem_type(self.node.inputs[position]) in ("int32", "int64", "int16"):
            numbers = self.view.ints(self.node, position)
            if numbers is not None:
                return [*numbers]
        raise NotComputedError(f"input {position} is no constant of integers")

    def number(self, position: int) -> int:
        """The one number of a constant operand."""
        numbers = self.numbers(position)
        needs(len(numbers) == 1, f"input {position} has {len(numbers)} numbers")
        return numbers[0]

    def option(self, name: str) -> int:
        """An option that is a number; 0 where the file has no options, as runtimes read it."""
        return self.node.int(name)


def needs(fits: bool, otherwise: str) -> None:
    """Raise MisfitError where operands do not fit."""
    if not fits:
        raise MisfitError(otherwise)


def axis_from_start(axis: int, rank: int) -> int:
    """An axis that may count from the end. Raises AxisError."""
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} is out of range: {rank} dimensions have axes {-rank} to {rank - 1}")
    return axis % rank


def without(shape: Sequence[int], axis: int) -> list[int]:
    """All sizes but one."""
    return [*shape[:axis], *shape[axis + 1 :]]


def broadcast(*shapes: Sequence[int]) -> list[int]:
    """Sizes of an element by element function (CalculateShapeForBroadcast). Raises MisfitError."""
    rank = max(map(len, shapes))
    result = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        longer = {size for size in sizes if size != 1} or {1}
        needs(len(longer) == 1, f"sizes {sorted(longer)} do not broadcast")
        result.append(longer.pop())
    return result


def windows(operands: Operands, size: int, window: int, stride: int, dilation: int = 1) -> int:
    """Places that a window takes along an axis (ComputeOutSize, tensorflow/lite/kernels/padding.h)."""
    needs(stride > 0 and dilation > 0 and window > 0, "its window, stride or dilation is not above 0")
    span = 1 if operands.node.text("padding", "SAME") == "SAME" else reach(window, dilation)
    return int((size + stride - span) / stride)  # towards 0, as C++ divides; below 0 is no size
