"""uint8 as int8: 128 off each integer and off each zero-point, so that every real number stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.signed_integers import filled_with, hands_on, unsigned_tensors
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.stored_types import quantizes
from onnxlint_cmsis.operators.answers import Elements

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


OFFSET = 0x80
"""128, which is added to or taken off the bit pattern of 8 bits by flipping the highest one."""


def apply_signed_integers(edit: GraphEdit, _record: LoweredLayer) -> RepairMade:
    """Make int8 of all uint8 tensors that can be. Raises NotAppliedError.

    Inputs and outputs of the model keep their type, and so does what an operator ties to them. What operators between
    the tensors clamp to or pad with becomes int8 as well.
    """
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
        self._constants: dict[tuple[str, tuple[int, ...]], str] = {}
        """New constants by the old ones, or by the shape of those that are not given."""

    def retype(self, tensor: str) -> None:
        """Make int8 of one tensor. Raises NotAppliedError."""
        edit, graph = self._edit, self._edit.graph
        ends = [
            (node, position)
            for node in graph.consumers.get(tensor, ())
            for position, name in enumerate(node.inputs)
            if name == tensor
        ]
        if graph.stores(tensor):
            for node, position in ends:
                self._connect(node, position, tensor, ())
        else:
            edit.forget(tensor)
            ends.append((graph.producers[tensor], -1))
        for node, value in ends:
            for position, default in _integers_of_type(node, value):
                self._shift(node, position, default)
            if quantizes(node):
                edit.set_attributes(node, "output_dtype")

    def _shift(self, node: Node, position: int, default: bool) -> None:
        """Take 128 off an integer that a node reads; `default` tells that one that is not given stands for 0."""
        if (node.index, position) in self._done:
            return
        self._done.add((node.index, position))
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name or default:
            shape: tuple[int, ...] = ()
            if not name and not hands_on(node) and position - 1 < len(node.inputs):
                shape = tuple(
                    size or 1 for size in self._edit.graph.shape(node.inputs[position - 1]) or ()
                )  # its scale's
            self._connect(node, position, name, shape)

    def _connect(self, node: Node, position: int, name: str, shape: tuple[int, ...]) -> None:
        """Make a node read a constant 128 lower; without a name one of zeros."""
        edit = self._edit
        if (name, shape) not in self._constants:
            codes = edit.stored(node, position).codes if name else np.zeros(shape, np.uint8)
            constant = edit.add_constant(f"{name or 'zero_point'}_int8", "int8", codes ^ np.uint8(OFFSET))
            self._constants[name, shape] = constant
        edit.connect(node, position, self._constants[name, shape])


def _integers_of_type(node: Node, value: int) -> Iterator[tuple[int, bool]]:
    """Inputs that hold an integer of a value's type; whether one that is missing stands for 0."""
    if hands_on(node) and parameters_of(node, value) is None:
        padded = operator_of(node).elements is Elements.PADDED
        return ((position, padded) for position in filled_with(node))
    carried = parameters_of(node, value)
    return iter([(carried.zero_point if carried else 2, True)])
