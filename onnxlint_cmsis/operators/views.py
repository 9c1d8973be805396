"""What a transfer function sees of its node: intervals of the inputs, shapes, types and small constants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model import element_ranges
from onnxlint_cmsis.model.intervals import point, unknown

if TYPE_CHECKING:
    from onnxlint_cmsis.ground.types import Size
    from onnxlint_cmsis.model.graph import Graph, Node
    from onnxlint_cmsis.model.intervals import Interval, Mask
    from onnxlint_cmsis.model.roles import Roles


class LayerSum(NamedTuple):
    """What a convolution or matrix product sums up, before bias and scales."""

    total: Interval
    """Products of data and weights less their zero-points, of the rank of the result."""
    axis: int
    """Axis of the result that lies along the rows of the weights."""
    weights: int
    """Input that holds the weights."""


class NodeView(ABC):
    """What stands in a graph: shapes, types and small constants."""

    graph: Graph

    @abstractmethod
    def roles(self, node: Node) -> Roles:
        """What the inputs of a node are for."""

    def shape(self, name: str) -> tuple[Size, ...] | None:
        """Shape of a tensor, None where its rank is unknown."""
        constant = self.graph.constants.get(name)
        return constant.shape if constant is not None else self.graph.shape(name)

    def input_shape(self, node: Node, position: int) -> tuple[Size, ...] | None:
        """Shape of an input; None where it is omitted or its rank is unknown."""
        return self.shape(node.inputs[position]) if node.has(position) else None

    def elem_type(self, name: str) -> str:
        """Element type of a tensor, empty where it is not known."""
        constant = self.graph.constants.get(name)
        return constant.elem_type if constant is not None else self.graph.elem_type(name)

    def made_type(self, node: Node) -> str:
        """Element type of a node's first output."""
        return self.elem_type(node.outputs[0])

    def stated(self, node: Node, name: str, default: Sequence[int] | None = None) -> tuple[int, ...] | None:
        """Numbers that a node states under a name of its roles, else `default`; None where they are not known."""
        return self.roles(node).numbers_of(node, name, lambda position: self.ints(node, position), default)

    def ints(self, node: Node, position: int) -> list[int] | None:
        """Numbers of an input; None where they are not known."""
        constant = self.graph.constants.get(node.inputs[position]) if node.has(position) else None
        values = None if constant is None or constant.overridable else constant.integers()
        return None if values is None else [*values]


class ValueView(NodeView):
    """A reading of the graph: present lanes, or the lanes that resizing adds."""

    @abstractmethod
    def input(self, node: Node, position: int) -> Interval | None:
        """What an input holds; None where it is omitted or its rank is unknown."""

    @abstractmethod
    def part(self, node: Node, position: int) -> Interval | None:
        """Part that an input adds to a concatenation; None for none."""

    @abstractmethod
    def join(self, parts: Sequence[Interval | None], where: tuple[int, list[int]] | None, /) -> Interval | None:
        """Parts one after the other along an axis, given the length of each; None where it cannot be said."""

    @abstractmethod
    def layer_sum(self, node: Node) -> LayerSum | None:
        """Sum of a layer; None where nothing is known of it."""

    def inverse(self, _node: Node, _position: int, /) -> Interval | None:
        """Inverses of a divisor whose elements are known one by one, though not its interval; None elsewhere."""
        return None

    def rounding(self, node: Node) -> float:
        """Relative error of a node's result."""
        return element_ranges.rounding(self.made_type(node))

    def scalar(self, node: Node, position: int, default: float = np.nan) -> Interval:
        """The one element of an input, of rank 0; `default` where it is omitted, unknown where it has several."""
        if not node.has(position):
            return point(default)
        value = self.input(node, position)
        if value is None or value.low.size != 1:
            return unknown(0)
        return value.moved(lambda array: array.reshape(()))


ValueRule = Callable[["Node", ValueView], "Interval | None"]
"""What a node's first output holds; None where nothing is known."""
DemandRule = Callable[["Node", ValueView, "Mask"], "dict[int, Mask] | None"]
"""Masks of a node's inputs from that of its first output; None where every element of every input may be needed."""


def real_attribute(node: Node, name: str, default: float) -> float:
    """A number among a node's attributes, NaN where it is none."""
    value = node.attributes.get(name, default)
    return float(value) if isinstance(value, int | float) else np.nan
