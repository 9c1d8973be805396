"""The operands of a grouped layer and of what follows it, cut along the output channels for one group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.split_groups import channel_axis, check_cut, cut_parameters, quantization_step
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.operators.control import CONSTANT_OF_SHAPE

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.model.graph import Node


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
        """What a group's copy reads in place of an operand: its channels, or all where no axis holds channels."""
        axis = channel_axis(self._edit.graph, node, position, self._channels)
        return self._edit.inputs(node)[position] if axis is None else self._part(node, position, axis, group)

    def _part(self, node: Node, position: int, axis: int, group: int) -> str:
        """The channels of one group of an operand, made as the operand is. Raises NotAppliedError."""
        step = quantization_step(self._edit.graph, node.inputs[position])
        return self._cut(node, position, axis, group) if step is None else self._stepped(step, axis, group)

    def _stepped(self, step: Node, axis: int, group: int) -> str:
        """A copy of a QuantizeLinear or DequantizeLinear for one group.

        Its scales and zero-points are cut where they lie along the channels.
        """
        names = self._edit.inputs(step)
        names[0] = self._part(step, 0, axis, group)
        for position in cut_parameters(self._edit.graph, step):
            names[position] = self._cut(step, position, 0, group)
        result = self._edit.fresh(f"{step.outputs[0]}_group{group + 1}")
        self._edit.insert_like(self._before, step, f"{result}_node", names, [result])
        return result

    def _cut(self, node: Node, position: int, axis: int, group: int) -> str:
        """A new constant: the channels of one group of a stored one. Raises NotAppliedError."""
        check_cut(self._edit.graph, node, position, axis, self._channels)
        producer = self._edit.graph.producers.get(node.inputs[position])
        if producer is not None and operator_of(producer) is CONSTANT_OF_SHAPE:
            return self._filled(producer, axis, group)
        stored = self._edit.stored(node, position)
        lanes = range(group * self._width, (group + 1) * self._width)
        codes = np.take(stored.codes, lanes, axis=axis)
        return self._edit.add_constant(f"{node.inputs[position]}_group{group + 1}", stored.elem_type, codes)

    def _filled(self, node: Node, axis: int, group: int) -> str:
        """What a copy of a ConstantOfShape makes for one group."""
        sizes = list(self._edit.graph.shape(node.outputs[0]) or ())
        sizes[axis] = self._width
        result = self._edit.fresh(f"{node.outputs[0]}_group{group + 1}")
        shape = self._edit.add_integers(f"{result}_shape", [size or 0 for size in sizes])
        self._edit.insert_like(self._before, node, f"{result}_node", [shape], [result])
        return result
