"""Context of a tie rule: the dimensions of its node's tensors, and the operations to tie, pin and bind them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.tensors import Axes, NotFollowedError, Tensors
from onnxlint_cmsis.model.variables import Dimension, size_of

__all__ = ["Axes", "Context", "Element", "LayerDims", "Naming", "NotFollowedError", "Number"]


class Number(NamedTuple):
    """A fixed element of a tensor of sizes, and the constant it was read from."""

    value: int
    """The number."""
    tensor: str
    """Name of the constant; empty where there is none."""
    position: int
    """Where in the constant it stands."""


Element = Number | Dimension | None
"""One element of a tensor of sizes: a fixed number, the size of a dimension, or unknown."""


class Naming(NamedTuple):
    """A number in the file that names a size: `value = sign * sum of the parts' sizes`."""

    node: int
    position: int
    attribute: str
    element: int
    origin: Number | None
    parts: tuple[Dimension, ...]
    sign: int


class LayerDims(NamedTuple):
    """Dimensions of the constant weights of one layer."""

    node: int
    decides: tuple[Dimension, ...]
    reads: tuple[Dimension, ...]


class Context(Tensors):
    """Operations of a rule: read sizes, tie, pin, bind, and note the dimensions that layers decide."""

    def __init__(self, graph: Graph, derived: Collection[str]) -> None:
        super().__init__(graph, derived)
        self.elements: dict[str, tuple[Element, ...]] = {}
        self.layers: list[LayerDims] = []
        self.multipliers: dict[int, Dimension] = {}
        self.namings: list[Naming] = []

    # sizes as data

    def values(self, position: int) -> tuple[Element, ...] | None:
        """Elements of an input that holds sizes or positions; None where nothing is known of it."""
        if not self.has(position):
            return None
        name = self.node.inputs[position]
        if name in self.elements:
            return self.elements[name]
        constant = self.graph.constants.get(name)
        numbers = None if constant is None or len(constant.shape) > 1 else constant.integers()
        return None if numbers is None else tuple(Number(number, name, index) for index, number in enumerate(numbers))

    def ints(self, position: int) -> tuple[int, ...] | None:
        """Elements of an input where all are fixed numbers, else None."""
        elements = self.values(position)
        if elements is None or not all(isinstance(element, Number) for element in elements):
            return None
        return tuple(element.value for element in elements if isinstance(element, Number))

    def stated(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...] | None:
        """Numbers that the node states under a name of its roles; None where they are computed at run time.

        `default` is what counts where it states none, unless the format states them in an input alone.
        """
        return self.roles.numbers_of(self.node, name, self.ints, default)

    def name_input(self, position: int, element: int, parts: Iterable[Dimension], sign: int = 1) -> None:
        """Note that an element of an input names a size, so that it is edited with it."""
        elements = self.values(position)
        origin = elements[element] if elements is not None and element < len(elements) else None
        origin = origin if isinstance(origin, Number) else None
        self.namings.append(Naming(self.node.index, position, "", element, origin, tuple(parts), sign))

    def name_attribute(self, attribute: str, element: int, parts: Iterable[Dimension], sign: int = 1) -> None:
        """Note that an element of an attribute names a size."""
        self.namings.append(Naming(self.node.index, -1, attribute, element, None, tuple(parts), sign))

    def name(self, name: str, element: int, parts: Iterable[Dimension], sign: int = 1) -> None:
        """Note it for a number that the node states under a name of its roles."""
        where = self.roles.stated(name)
        if self.has(where.input):
            self.name_input(where.input, element, parts, sign)
        else:
            self.name_attribute(where.attribute, element, parts, sign)

    # ties

    def tie_all(self, first: Iterable[Dimension], second: Iterable[Dimension]) -> None:
        """Tie two lists of axes, one by one."""
        for left, right in zip(first, second, strict=False):
            self.tie(left, right)

    def output_as(self, position: int, axes: Sequence[Dimension]) -> None:
        """Give an output these axes. Raises NotFollowedError where the model gives it another rank."""
        self.tie_all(self.output(position, [self.size(axis) for axis in axes]), axes)

    def pin(self, dimension: Dimension, reason: str) -> None:
        """Lock a dimension."""
        self.variables.pin(dimension, self.label, reason)

    def pin_all(self, dimensions: Iterable[Dimension], reason: str) -> None:
        """Lock several dimensions."""
        for dimension in dimensions:
            self.pin(dimension, reason)

    def pin_everything(self, reason: str) -> None:
        """Lock every axis of the node's inputs and outputs."""
        for position in range(len(self.node.inputs)):
            self.pin_all(self.input(position) or (), reason)
        for name in filter(None, self.node.outputs):
            self.pin_all(self.axes_of(name) or (), reason)

    def fixed(self, size: Size, reason: str) -> Dimension:
        """A new dimension that may not change."""
        dimension = Dimension(size)
        self.pin(dimension, reason)
        return dimension

    def concat(self, parts: Iterable[Dimension]) -> Dimension:
        """Elements of the parts in order."""
        return self.variables.concat(parts, self.label)

    def product(self, factors: Iterable[Dimension]) -> Dimension:
        """Grid of the factors, outermost first."""
        return self.variables.product(factors, self.label)

    def layer(self, weights: int, decides: Iterable[Dimension], reads: Iterable[Dimension]) -> None:
        """Note what the constant weights at an input decide and read.

        Does nothing if the weights are not constant, or if all inputs are: then the node computes weights.
        """
        given = [position for position in range(len(self.node.inputs)) if self.has(position)]
        if self.is_constant(weights) and not all(map(self.is_constant, given)):
            self.layers.append(LayerDims(self.node.index, tuple(decides), tuple(reads)))

    def size(self, dimension: Dimension) -> Size:
        """Size, None while unknown."""
        return size_of(dimension)
