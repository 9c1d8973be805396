"""The operands of a grouped layer and of what follows it, cut along the output channels for one group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.operators.control_operators import CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.normalization_operators import BATCH_NORMALIZATION
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Node
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit


class GroupParts:
    """Inputs for the copies of nodes, group by group."""

    def __init__(self, edit: GraphEdit, before: Node, groups: int, channels: int) -> None:
        """New nodes stand right before `before`; `channels` are the output channels of all groups."""
        self._edit, self._before, self._channels = edit, before, channels
        self._width = channels // groups

    def inputs(self, node: Node, source: str, tensor: str, group: int) -> list[str]:
        """Inputs of a node's copy, which reads `tensor` in place of `source`. Raises NotAppliedError."""
        names = self._edit.inputs(node)
        return [
            tensor if key == source else self._operand(node, position, group) if key else name
            for position, (name, key) in enumerate(zip(names, node.inputs, strict=True))
        ]

    def _operand(self, node: Node, position: int, group: int) -> str:
        graph, key = self._edit.graph, node.inputs[position]
        producer = graph.producers.get(key)
        axis = self._axis(node, position)
        if axis is None:
            return self._edit.inputs(node)[position]
        if producer is not None and operator_of(producer).dequantizes and not graph.stores(key):
            return self._dequantized(producer, axis, group)
        return self._cut(node, position, axis, group)

    def _axis(self, node: Node, position: int) -> int | None:
        """Axis of an operand along which the output channels lie; None where it is the same for all of them."""
        graph, operator = self._edit.graph, operator_of(node)
        shape = graph.shape(node.inputs[position])
        if shape is None or None in shape:
            raise NotAppliedError(f"the shape of `{node.inputs[position]}` is not known")
        layer = operator.roles.form is Form.CONVOLUTION
        if layer and position == operator.roles.second:
            return 0
        if all(size == 1 for size in shape):
            return None
        rank = len(graph.shape(node.outputs[0]) or ())
        axis = 0 if layer or operator is BATCH_NORMALIZATION else len(shape) - (rank - 1)
        if axis < 0 or shape[axis] != self._channels or any(size != 1 for size in shape[:axis] + shape[axis + 1 :]):
            raise NotAppliedError(f"`{node.inputs[position]}` of {node.label} has other numbers than one per channel")
        return axis

    def _dequantized(self, dequantizer: Node, axis: int, group: int) -> str:
        """A copy of a DequantizeLinear for one group; its scales and zero-points are cut where they lie along."""
        names = self._edit.inputs(dequantizer)
        names[0] = self._cut(dequantizer, 0, axis, group)
        for position in range(1, len(names)):
            count = self._edit.graph.shape(dequantizer.inputs[position]) if names[position] else ()
            if count not in ((), (1,)):
                names[position] = self._cut(dequantizer, position, 0, group)
        real = self._edit.fresh(f"{dequantizer.outputs[0]}_group{group + 1}")
        self._edit.insert_like(self._before, dequantizer, f"{real}_node", names, [real])
        return real

    def _cut(self, node: Node, position: int, axis: int, group: int) -> str:
        """A new constant: the channels of one group of a stored one. Raises NotAppliedError."""
        producer = self._edit.graph.producers.get(node.inputs[position])
        if producer is not None and operator_of(producer) is CONSTANT_OF_SHAPE:
            return self._filled(producer, axis, group)
        stored = self._edit.stored(node, position)
        if axis >= stored.codes.ndim or stored.codes.shape[axis] != self._channels:
            raise NotAppliedError(f"`{node.inputs[position]}` of {node.label} has other numbers than one per channel")
        lanes = range(group * self._width, (group + 1) * self._width)
        codes = np.take(stored.codes, lanes, axis=axis)
        return self._edit.add_constant(f"{node.inputs[position]}_group{group + 1}", stored.elem_type, codes)

    def _filled(self, node: Node, axis: int, group: int) -> str:
        """What a copy of a ConstantOfShape makes for one group."""
        sizes = list(self._edit.graph.shape(node.outputs[0]) or ())
        sizes[axis] = self._width
        made = self._edit.fresh(f"{node.outputs[0]}_group{group + 1}")
        shape = self._edit.add_integers(f"{made}_shape", [size or 0 for size in sizes])
        self._edit.insert_like(self._before, node, f"{made}_node", [shape], [made])
        return made
