"""Tensors of a graph with the dimensions of their axes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.model.unification import unify
from onnxlint_cmsis.model.variables import Dimension, Variables, size_of

Axes = tuple[Dimension, ...]


class NotFollowedError(Exception):
    """A rule cannot follow its node; the message becomes the lock of every axis of the node."""


class Tensors:
    """Dimensions of every tensor. `node` is the node whose rule runs, with its roles, `label` its name in locks."""

    def __init__(self, graph: Graph, derived: Collection[str]) -> None:
        self.graph = graph
        self.variables = Variables()
        self.node: Node = Node(-1, "", "", "", 0, (), ())
        self.roles = Roles()
        self.label = ""
        self.tensors: dict[str, Axes] = {}
        self.uses: dict[tuple[int, int], Axes] = {}
        """Axes of constant vectors, by node and input."""
        self.derived = derived
        """Tensors computed from constants alone."""

    def enter(self, node: Node, roles: Roles) -> None:
        """Make a node the current one."""
        self.node, self.roles = node, roles
        self.label = node.label

    def has(self, position: int) -> bool:
        """Tell whether the node has that input."""
        return self.node.has(position)

    def input(self, position: int) -> Axes | None:
        """Axes of an input; None where it is omitted or its rank is unknown."""
        if not self.has(position):
            return None
        name = self.node.inputs[position]
        if not self._copied_per_use(name):
            return self.axes_of(name)
        use = (self.node.index, position)
        if use not in self.uses:
            self.uses[use] = tuple(Dimension(size) for size in self.graph.constants[name].shape)
            self._pin_overridable(name, self.uses[use])
        return self.uses[use]

    def need(self, position: int) -> Axes:
        """Axes of an input. Raises NotFollowedError where it is omitted or its rank is unknown."""
        axes = self.input(position)
        if axes is None:
            name = self.node.inputs[position] if self.has(position) else f"number {position}"
            raise NotFollowedError(f"the rank of input {name} is not known")
        return axes

    def output(self, position: int, sizes: Sequence[Size]) -> Axes:
        """Axes of an output of the rank that `sizes` has; sizes serve where the model gives none.

        Raises NotFollowedError where the model gives the output another rank.
        """
        name = self.node.outputs[position] if position < len(self.node.outputs) else ""
        if not name:
            return tuple(Dimension(size) for size in sizes)
        axes = self.axes_of(name)
        if axes is None:
            axes = self.tensors[name] = tuple(Dimension(size) for size in sizes)
        if len(axes) != len(sizes):
            raise NotFollowedError(f"output {name} has rank {len(axes)} where {len(sizes)} follows from the inputs")
        for axis, size in zip(axes, sizes, strict=True):
            if size is not None and size_of(axis) is None:
                self.tie(axis, Dimension(size))
        return axes

    def axes_of(self, name: str) -> Axes | None:
        """Axes of a tensor by name; None where its rank is unknown."""
        if name not in self.tensors:
            constant = self.graph.constants.get(name)
            shape = constant.shape if constant else self.graph.shape(name)
            if shape is None:
                return None
            self.tensors[name] = tuple(Dimension(size) for size in shape)
            self._pin_overridable(name, self.tensors[name])
        return self.tensors[name]

    def _copied_per_use(self, name: str) -> bool:
        """Tell whether it is a stored constant vector: one tensor may serve unrelated layers."""
        constant = self.graph.constants.get(name)
        return constant is not None and sum(size != 1 for size in constant.shape) <= 1 and self.graph.stores(name)

    def _pin_overridable(self, name: str, axes: Axes) -> None:
        constant = self.graph.constants.get(name)
        if constant is not None and constant.overridable:
            for axis in axes:
                self.variables.pin(axis, "", f"initializer {name} is a graph input too, so a caller may replace it")

    def is_constant(self, position: int) -> bool:
        """Tell whether an input is computed from constants alone."""
        name = self.node.inputs[position] if self.has(position) else ""
        return name in self.graph.constants or name in self.derived

    def is_scalar(self, position: int) -> bool:
        """Tell whether an input is a constant of one element that spreads over any size the others have."""
        name = self.node.inputs[position]
        return self._copied_per_use(name) and all(size == 1 for size in self.graph.constants[name].shape)

    def tie(self, first: Dimension, second: Dimension) -> None:
        """Make two dimensions one."""
        unify(self.variables, first, second, self.label)
