"""What the new elements of a node's operands hold: one cell for all of a tensor's, whichever lane they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite, prod

import numpy as np

from onnxlint_cmsis.analysis.constants import Constants, FillKind, NotFilledError, check_weights, fill
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.sums import sums_of
from onnxlint_cmsis.model.context import Context
from onnxlint_cmsis.model.element_ranges import range_of
from onnxlint_cmsis.model.graph import Constant, Node
from onnxlint_cmsis.model.interval_axes import level, ranked
from onnxlint_cmsis.model.intervals import Fault, Interval, between, exactly, hull, point
from onnxlint_cmsis.model.roles import Roles, Sums
from onnxlint_cmsis.model.tensors import Axes
from onnxlint_cmsis.model.variables import Dimension, leaves_of
from onnxlint_cmsis.operators.views import LayerSum, ValueView

MAX_READ = 4096
"""Constants of more elements are weights, which are not read."""

Leaves = frozenset[Dimension]


class NewLaneView(ValueView):
    """What new elements hold, per tensor; `wanted` are the leaves by which the node's output may grow.

    An operand without some of the leaves meets new elements with old ones: of those only small constants are known.
    Data that layers read are taken as finite.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.graph = context.graph
        self.constants = Constants(context.graph, context.derived)
        self.wanted: Leaves = frozenset()
        self.new: dict[str, Interval] = {}
        """New elements of tensors that are computed."""
        self.old: dict[str, Interval] = {}
        """All elements of tensors that are computed from constants."""
        self.decided = {layer.node: layer.decides for layer in context.layers}
        """Dimensions that the constant weights of layers decide."""
        self._leaves: dict[str, tuple[Dimension, ...]] = {}

    def enter(self, node: Node) -> None:
        """Make a node the current one."""
        self.context.enter(node, operator_of(node).roles)
        self.wanted = frozenset(leaf for name in node.outputs if name for leaf in self._growing(name))

    def growing(self, axes: Iterable[Dimension]) -> Leaves:
        """Leaves that may grow."""
        return frozenset(leaf for axis in axes for leaf in leaves_of(axis) if not leaf.fixed)

    def is_new(self, node: Node, position: int) -> bool:
        """Tell whether an operand has new elements where the output has."""
        return bool(self._of_operand(node, position) & self.wanted)

    def input(self, node: Node, position: int) -> Interval | None:
        """Values of an operand where the output is new; any finite number where unknown."""
        return self._ranked(node, position, self._value(node, position)) if node.has(position) else None

    def part(self, node: Node, position: int) -> Interval | None:
        """New elements come from the parts that have some."""
        new = node.has(position) and self.is_new(node, position)
        return self._ranked(node, position, self._new(node, position)) if new else None

    def join(self, parts: Sequence[Interval | None], _where: tuple[int, list[int]] | None, /) -> Interval | None:
        """New elements of any part."""
        known = [part for part in parts if part is not None]
        return hull(*(level(part, range(part.low.ndim)) for part in known)) if known else None

    def roles(self, node: Node) -> Roles:
        """What the inputs of a node are for, as its record says."""
        return operator_of(node).roles

    def layer_sum(self, node: Node) -> LayerSum | None:
        """0 where the products of new elements sum up to it."""
        roles, shape = self.roles(node), self.shape(node.outputs[0])
        if shape is None or not self._is_nothing(node, roles):
            return None
        return LayerSum(ranked(point(0.0), len(shape)), 0, roles.weights[0])

    def inverse(self, node: Node, position: int, /) -> Interval | None:
        """Inverses of all elements of a small constant."""
        divisors = () if self.is_new(node, position) else self._numbers(node, position)
        return None if not divisors or 0 in divisors else _of_numbers([1 / divisor for divisor in divisors])

    def _value(self, node: Node, position: int) -> Interval:
        mine = self._of_operand(node, position) & self.wanted
        if not mine:
            return self._old(node, position)
        new = self._new(node, position)
        return new if mine == self.wanted else hull(new, self._old(node, position))

    def _ranked(self, node: Node, position: int, held: Interval) -> Interval:
        return ranked(held, len(self.input_shape(node, position) or ()))

    def _new(self, node: Node, position: int) -> Interval:
        """What the new elements of an operand hold, of rank 0."""
        name = node.inputs[position]
        if self.constants.stored(name):
            return self._filled(node, position)
        return self.new.get(name) or range_of(self.elem_type(name))

    def _is_nothing(self, node: Node, roles: Roles) -> bool:
        rows = self._decided(node)
        if self.wanted <= rows:
            return True
        data = [position for position in roles.data_of(node) if not self.constants.constant(node.inputs[position])]
        if len(data) != 1 or sums_of(self.graph, node) is not Sums.FLOAT or not self.is_new(node, data[0]):
            return False
        return self.wanted - rows <= self._of_operand(node, data[0]) and bool(self._new(node, data[0]).zero)

    def _decided(self, node: Node) -> Leaves:
        """Leaves that the layer's constant weights decide, if their new elements are 0."""
        try:
            check_weights(self.constants, node)
        except NotFilledError:
            return frozenset()
        return self.growing(self.decided.get(node.index, ()))

    def _of_operand(self, node: Node, position: int) -> Leaves:
        use = node.index, position
        if use in self.context.uses:
            return self.growing(self.context.uses[use])
        return frozenset(self._growing(node.inputs[position]))

    def _growing(self, name: str) -> list[Dimension]:
        if name not in self._leaves:
            axes: Axes = self.context.axes_of(name) or ()
            self._leaves[name] = tuple(leaf for axis in axes for leaf in leaves_of(axis))
        return [leaf for leaf in self._leaves[name] if not leaf.fixed]

    def _numbers(self, node: Node, position: int) -> Sequence[float]:
        """All elements of a small constant; none where they are not known."""
        constant = self.graph.constants.get(node.inputs[position])
        return _small_values(constant) if constant is not None and not constant.overridable else ()

    def _old(self, node: Node, position: int) -> Interval:
        name = node.inputs[position]
        if numbers := self._numbers(node, position):
            return _of_numbers(numbers)
        return self.old.get(name) or range_of(self.elem_type(name))

    def _filled(self, node: Node, position: int) -> Interval:
        """What `fill` gives the new elements of a stored constant."""
        constant = self.graph.constants[node.inputs[position]]
        try:
            chosen = fill(self.constants, node, position)
        except NotFilledError:
            return range_of(constant.elem_type)
        if chosen.kind is FillKind.NUMBER:
            return point(chosen.number)
        return _serving(constant) if chosen.kind is FillKind.FIRST else range_of(constant.elem_type)


def _of_numbers(numbers: Sequence[float]) -> Interval:
    """Hull of numbers, which is flawed where one is NaN or infinite."""
    values = np.array(numbers, np.float64)
    whole = level(exactly(values), [0]).moved(lambda array: array.reshape(()))
    return whole.flawed(np.asarray(~np.isfinite(values).all()), Fault("may be NaN or infinite, as a constant is"))


def _serving(constant: Constant) -> Interval:
    """Elements that can serve as a scale or zero-point."""
    numbers = _small_values(constant)
    if "float" in constant.elem_type:
        numbers = [value for value in numbers if isfinite(value) and value > 0]
    fallback = between(0.0, np.inf) if "float" in constant.elem_type else range_of(constant.elem_type)
    return _of_numbers(numbers) if numbers else fallback


def _small_values(constant: Constant) -> Sequence[float]:
    """Numbers of a small constant; none where it is larger or cannot be read."""
    values = constant.values() if prod(constant.shape) <= MAX_READ else None
    return [float(value) for value in values or ()]
