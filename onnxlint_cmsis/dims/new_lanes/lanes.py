"""What the operators' rows see: what the new elements of a node's operands hold."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, prod

from onnxlint_cmsis.algebra.context import Axes, Context
from onnxlint_cmsis.algebra.variables import Dimension, leaves_of
from onnxlint_cmsis.dims.constant_uses import Constants
from onnxlint_cmsis.dims.fills import Fill, FillKind, NotFilledError, fill
from onnxlint_cmsis.dims.new_lanes.interval import (
    NONE_BELOW_ZERO,
    ROUNDING,
    Interval,
    hull,
    of_numbers,
    point,
    range_of,
)
from onnxlint_cmsis.graph.model import Constant, Node

MAX_READ = 4096
"""Constants of more elements are weights, which are not read."""

Leaves = frozenset[Dimension]


class NewLanes:
    """What new elements hold, per tensor; `wanted` are the leaves by which the node's output may grow.

    A tensor has one interval for all its new elements, whichever of its leaves they belong to. An operand without some
    of the leaves meets new elements with old ones: of those only small constants are known.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.constants = Constants(context.graph, context.derived)
        self.node: Node = context.node
        self.wanted: Leaves = frozenset()
        self.found: dict[str, Interval] = {}
        """New elements of tensors that are computed."""
        self.old: dict[str, Interval] = {}
        """All elements of tensors that are computed from constants."""
        self.decided = {layer.node: layer.decides for layer in context.layers}
        """Dimensions that the constant weights of layers decide."""
        self._leaves: dict[str, tuple[Dimension, ...]] = {}

    def enter(self, node: Node) -> None:
        """Make a node the current one."""
        self.node = node
        self.context.enter(node)
        self.wanted = frozenset(leaf for name in node.outputs if name for leaf in self._growing(name))

    def growing(self, axes: Iterable[Dimension]) -> Leaves:
        """Leaves that may grow."""
        return frozenset(leaf for axis in axes for leaf in leaves_of(axis) if not leaf.fixed)

    def has(self, position: int) -> bool:
        """Whether the node has an input."""
        return self.context.has(position)

    def elem_type(self, name: str) -> str:
        """Element type of a tensor, empty where it is not known."""
        constant = self.context.graph.constants.get(name)
        return constant.elem_type if constant is not None else self.context.graph.elem_type(name)

    @property
    def made(self) -> str:
        """Element type of the node's first output."""
        return self.elem_type(self.node.outputs[0])

    @property
    def rounding(self) -> float:
        """Relative error of the node's result."""
        return ROUNDING.get(self.made, ROUNDING["bfloat16"]) if "int" not in self.made else 0.0

    def is_new(self, position: int) -> bool:
        """Whether an operand has new elements where the output has."""
        return bool(self._of_operand(position) & self.wanted)

    def value(self, position: int) -> Interval:
        """What an operand holds where the output is new."""
        mine = self._of_operand(position) & self.wanted
        if not mine:
            return self._old(position)
        new = self.new(position)
        return new if mine == self.wanted else hull(new, self._old(position))

    def new(self, position: int) -> Interval:
        """What the new elements of an operand hold."""
        name = self.node.inputs[position]
        if self.constants.stored(name):
            return self._filled(position)
        return self.found.get(name) or range_of(self.elem_type(name))

    def all_new(self, leaves: Leaves, position: int) -> bool:
        """Whether an operand is new wherever the output is new by other leaves than the given ones."""
        return self.wanted - leaves <= self._of_operand(position)

    def _of_operand(self, position: int) -> Leaves:
        name = self.node.inputs[position]
        use = self.node.index, position
        if use in self.context.uses:
            return self.growing(self.context.uses[use])
        return frozenset(self._growing(name))

    def _growing(self, name: str) -> list[Dimension]:
        if name not in self._leaves:
            axes: Axes = self.context.axes_of(name) or ()
            self._leaves[name] = tuple(leaf for axis in axes for leaf in leaves_of(axis))
        return [leaf for leaf in self._leaves[name] if not leaf.fixed]

    def numbers(self, position: int) -> tuple[float, ...]:
        """All elements of a small constant; none where they are not known."""
        constant = self.context.graph.constants.get(self.node.inputs[position])
        return _numbers(constant) if constant is not None and not constant.overridable else ()

    def _old(self, position: int) -> Interval:
        name = self.node.inputs[position]
        if numbers := self.numbers(position):
            return of_numbers(numbers)
        return self.old.get(name) or range_of(self.elem_type(name))

    def _filled(self, position: int) -> Interval:
        """What `fills` gives the new elements of a stored constant."""
        constant = self.context.graph.constants[self.node.inputs[position]]
        try:
            chosen: Fill = fill(self.constants, self.node, position)
        except NotFilledError:
            return range_of(constant.elem_type)
        if chosen.kind is FillKind.NUMBER:
            return point(chosen.number)
        return _serving(constant) if chosen.kind is FillKind.FIRST else range_of(constant.elem_type)


def _serving(constant: Constant) -> Interval:
    """Elements that can serve as a scale or zero-point."""
    numbers = _numbers(constant)
    if "float" in constant.elem_type:
        numbers = tuple(value for value in numbers if isfinite(value) and value > 0)
    fallback = NONE_BELOW_ZERO if "float" in constant.elem_type else range_of(constant.elem_type)
    return of_numbers(numbers) if numbers else fallback


def _numbers(constant: Constant) -> tuple[float, ...]:
    """Numbers of a small constant; none where it is larger or cannot be read."""
    values = constant.values() if prod(constant.shape) <= MAX_READ else None
    return tuple(float(value) for value in values or ())
