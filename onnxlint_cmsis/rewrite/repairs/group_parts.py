"""The operands of a grouped layer and of what follows it, cut along the output channels for one group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.operators.control_operators import CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.normalization_operators import BATCH_NORMALIZATION
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.roles import Form
from onnxlint_cmsis.rewrite.changeable import check_constant

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
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
        axis = _channel_axis(self._edit.graph, node, position, self._channels)
        return self._edit.inputs(node)[position] if axis is None else self._part(node, position, axis, group)

    def _part(self, node: Node, position: int, axis: int, group: int) -> str:
        """The channels of one group of an operand, made as the operand is. Raises NotAppliedError."""
        step = _quantization_step(self._edit.graph, node.inputs[position])
        return self._cut(node, position, axis, group) if step is None else self._stepped(step, axis, group)

    def _stepped(self, step: Node, axis: int, group: int) -> str:
        """A copy of a QuantizeLinear or DequantizeLinear for one group.

        Its scales and zero-points are cut where they lie along the channels.
        """
        names = self._edit.inputs(step)
        names[0] = self._part(step, 0, axis, group)
        for position in _cut_parameters(self._edit.graph, step):
            names[position] = self._cut(step, position, 0, group)
        made = self._edit.fresh(f"{step.outputs[0]}_group{group + 1}")
        self._edit.insert_like(self._before, step, f"{made}_node", names, [made])
        return made

    def _cut(self, node: Node, position: int, axis: int, group: int) -> str:
        """A new constant: the channels of one group of a stored one. Raises NotAppliedError."""
        _check_cut(self._edit.graph, node, position, axis, self._channels)
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
        made = self._edit.fresh(f"{node.outputs[0]}_group{group + 1}")
        shape = self._edit.add_integers(f"{made}_shape", [size or 0 for size in sizes])
        self._edit.insert_like(self._before, node, f"{made}_node", [shape], [made])
        return made


def refusal_of_parts(graph: Graph, nodes: Sequence[Node], channels: int) -> str:
    """Why the operands of a layer and of what follows it cannot be cut along its output channels; empty if they can.

    `nodes` are the layer and what follows it, each of which reads what the one before it makes.
    """
    source = nodes[0].inputs[operator_of(nodes[0]).roles.data[0]]
    try:
        for node in nodes:
            for position, key in enumerate(node.inputs):
                if key and key != source:
                    _check_operand(graph, node, position, channels)
            source = node.outputs[0]
    except NotAppliedError as reason:
        return str(reason)
    return ""


def _check_operand(graph: Graph, node: Node, position: int, channels: int) -> None:
    """Raise NotAppliedError where an operand cannot be cut along the output channels."""
    axis = _channel_axis(graph, node, position, channels)
    if axis is None:
        return
    while (step := _quantization_step(graph, node.inputs[position])) is not None:
        for parameter in _cut_parameters(graph, step):
            _check_cut(graph, step, parameter, 0, channels)
        node, position = step, 0
    _check_cut(graph, node, position, axis, channels)


def _channel_axis(graph: Graph, node: Node, position: int, channels: int) -> int | None:
    """Axis of an operand along which the output channels lie; None where it is the same for all of them."""
    operator, shape = operator_of(node), graph.shape(node.inputs[position])
    if shape is None or None in shape:
        raise NotAppliedError(f"the shape of `{node.inputs[position]}` is not known")
    layer = operator.roles.form is Form.CONVOLUTION
    if layer and position == operator.roles.second:
        return 0
    if all(size == 1 for size in shape):
        return None
    rank = len(graph.shape(node.outputs[0]) or ())
    axis = 0 if layer or operator is BATCH_NORMALIZATION else len(shape) - (rank - 1)
    if axis < 0 or shape[axis] != channels or any(size != 1 for size in shape[:axis] + shape[axis + 1 :]):
        raise _other_numbers(node, position)
    return axis


def _quantization_step(graph: Graph, tensor: str) -> Node | None:
    """The QuantizeLinear or DequantizeLinear that makes a tensor; None where it is stored or made otherwise."""
    producer = graph.producers.get(tensor)
    if producer is None or graph.stores(tensor):
        return None
    return producer if operator_of(producer).dequantizes or operator_of(producer).quantizes else None


def _cut_parameters(graph: Graph, step: Node) -> list[int]:
    """Inputs of a QuantizeLinear or DequantizeLinear that have a number for each output channel."""
    places = [place for place, key in enumerate(step.inputs) if place and key]
    return [place for place in places if graph.shape(step.inputs[place]) not in ((), (1,))]


def _check_cut(graph: Graph, node: Node, position: int, axis: int, channels: int) -> None:
    """Raise NotAppliedError for an operand that is no stored constant or has other numbers than one per channel."""
    key = node.inputs[position]
    producer, shape = graph.producers.get(key), graph.shape(key) or ()
    filled = producer is not None and operator_of(producer) is CONSTANT_OF_SHAPE
    if not filled and not graph.stores(key):
        raise NotAppliedError(f"`{key}` of {node.label} is not stored as it is used")
    if not filled:
        check_constant(graph, key)
    if axis >= len(shape) or shape[axis] != channels:
        raise _other_numbers(node, position)


def _other_numbers(node: Node, position: int) -> NotAppliedError:
    return NotAppliedError(f"`{node.inputs[position]}` of {node.label} has other numbers than one per channel")
