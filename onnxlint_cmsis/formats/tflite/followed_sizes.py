"""Sizes of all results of a graph, worked out one from the other: `result_sizes` from the inputs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.tflite.operand_sizes import NotComputedError, Operands, Shape
from onnxlint_cmsis.formats.tflite.result_sizes import result_sizes
from onnxlint_cmsis.ground.types import Size
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Roles
from onnxlint_cmsis.operators.views import NodeView


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


def followed_sizes(graph: Graph) -> dict[str, Shape]:
    """Sizes of the main subgraph's results that follow from those of inputs and constants, by key."""
    view = _Computed(graph)
    for node in graph.nodes:
        if not node.graph:
            view.add(node)
    return view.computed


class _Computed(NodeView):
    """Sizes that are computed of results, and those that the file says of all else."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.computed: dict[str, Shape] = {}
        self.lists: dict[str, list[int]] = {}
        """Sizes that are computed as data: what SHAPE makes, and what is picked of it and joined."""

    def roles(self, node: Node) -> Roles:
        return operator_of(node).roles

    def shape(self, name: str) -> tuple[Size, ...] | None:
        return self.computed.get(name) if name in self.graph.producers else super().shape(name)

    def ints(self, node: Node, position: int) -> list[int] | None:
        """Numbers of an operand: a constant, or sizes as data."""
        listed = self.lists.get(node.inputs[position]) if node.has(position) else None
        return super().ints(node, position) if listed is None else listed

    def add(self, node: Node) -> None:
        """The results of a node, as far as its operands tell."""
        try:
            self.computed.update(zip(node.outputs, result_sizes(node, self), strict=True))
        except NotComputedError:
            return
        listed = LISTS.get(node.op_type)
        if listed is not None and len(self.computed[node.outputs[0]]) <= 1:
            with suppress(NotComputedError):
                self.lists[node.outputs[0]] = listed(Operands(node, self))
