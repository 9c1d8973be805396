"""uint8 as int8: 128 off each integer and off each zero-point.

Every real number stays what it was. Inputs and outputs of the model keep their type, and so does what an operator ties
to them. Tensors keep their names; what operators between them clamp to or pad with becomes int8 as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.stored_types import quantizes
from onnxlint_cmsis.operators.facets import Elements
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.rewrite.repairs.unsigned_tensors import filled_with, hands_on, unsigned_tensors

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

OFFSET = 0x80
"""128, which is added to or taken off the bit pattern of 8 bits by flipping the highest one."""


def nodes(graph: Graph) -> Iterator[Node]:
    """The first node that reads or makes a uint8 tensor which can be int8: one repair is for the whole model."""
    first = next(unsigned_tensors(graph), "")
    users = (*graph.consumers.get(first, ()), graph.producers.get(first)) if first else ()
    return (node for node in users[:1] if node is not None)


def refusal(_graph: Graph, _record: LoweredLayer) -> str:
    """Nothing keeps the tensors from being int8 that `nodes` answers for."""
    return ""


def apply(edit: GraphEdit, _record: LoweredLayer) -> RepairMade:
    """Make int8 of all uint8 tensors that can be. Raises NotAppliedError."""
    tensors = list(unsigned_tensors(edit.graph))
    shifting = _Shifting(edit)
    for tensor in tensors:
        shifting.retype(tensor)
    text = f"and {len(tensors) - 1} more tensors become int8: 128 off their integers and zero-points"
    return RepairMade(text if len(tensors) > 1 else "reads int8: 128 off its integers and zero-point", ())


class _Shifting:
    """Tensors and zero-points of one model in the making, 128 lower."""

    def __init__(self, edit: GraphEdit) -> None:
        self._edit = edit
        self._done: set[tuple[int, int]] = set()
        """Integers that are int8 already, by node and input."""
        self._made: dict[tuple[str, tuple[int, ...]], str] = {}
        """New constants by the old ones, or by the shape of those that are not given."""

    def retype(self, tensor: str) -> None:
        """Make int8 of one tensor. Raises NotAppliedError."""
        edit, graph = self._edit, self._edit.graph
        ends = [
            (node, place)
            for node in graph.consumers.get(tensor, ())
            for place, name in enumerate(node.inputs)
            if name == tensor
        ]
        if graph.stores(tensor):
            for node, place in ends:
                self._connect(node, place, tensor, ())
        else:
            edit.forget(tensor)
            ends.append((graph.producers[tensor], -1))
        for node, value in ends:
            for place, default in _integers(node, value):
                self._shift(node, place, default)
            if quantizes(node):
                edit.set_attributes(node, "output_dtype")

    def _shift(self, node: Node, place: int, default: bool) -> None:
        """Take 128 off an integer that a node reads; `default` tells that one that is not given stands for 0."""
        if (node.index, place) in self._done:
            return
        self._done.add((node.index, place))
        name = node.inputs[place] if place < len(node.inputs) else ""
        if name or default:
            self._connect(node, place, name, () if name else _count(self._edit.graph, node, place))

    def _connect(self, node: Node, place: int, name: str, shape: tuple[int, ...]) -> None:
        """Make a node read a constant 128 lower; without a name one of zeros."""
        edit = self._edit
        if (name, shape) not in self._made:
            codes = edit.stored(node, place).codes if name else np.zeros(shape, np.uint8)
            made = edit.add_constant(f"{name or 'zero_point'}_int8", "int8", codes ^ np.uint8(OFFSET))
            self._made[name, shape] = made
        edit.connect(node, place, self._made[name, shape])


def _integers(node: Node, value: int) -> Iterator[tuple[int, bool]]:
    """Inputs that hold an integer of a value's type; whether one that is missing stands for 0."""
    if hands_on(node) and parameters_of(node, value) is None:
        padded = operator_of(node).elements is Elements.PADDED
        return ((place, padded) for place in filled_with(node))
    carried = parameters_of(node, value)
    return iter([(carried.zero_point if carried else 2, True)])


def _count(graph: Graph, node: Node, place: int) -> tuple[int, ...]:
    """Shape of a zero-point that is not given: that of its scale."""
    if hands_on(node):
        return ()
    scale = graph.shape(node.inputs[place - 1]) if place - 1 < len(node.inputs) else ()
    return tuple(size or 1 for size in scale or ())


SIGNED_INTEGERS = RepairRow(
    name="signed-integers",
    what="makes int8 of uint8 tensors: 128 off integers and zero-points",
    hazards=frozenset(),
    price="nothing",
    free=True,
    refusal=refusal,
    apply=apply,
    rule="unsigned-integers",
    nodes=nodes,
    whole=True,
    as_written=True,
)
