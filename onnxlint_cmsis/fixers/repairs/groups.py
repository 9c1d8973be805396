"""Repairs that split a layer: by groups, or by images of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.split_groups import (
    channel_axis,
    check_cut,
    cut_parameters,
    layer_nodes,
    quantization_step,
)
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.operators.control import CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.movement import CONCAT, SLICE

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


# The operands of a grouped layer and of what follows it, cut along the output channels for one group.


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


# A grouped convolution as one convolution per group between Slices and a Concat.


BOUNDS_AS_INPUTS = 10
"""First operator set whose Slice takes its bounds as inputs."""


def apply_split_groups(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Cut the input, copy the layer and its epilogue for each group, and join the results.

    Constants with one number per channel are cut along, so that Slice and Concat move integers of one scale.
    """
    layer = record.layer
    if layer is None or not layer.call.output_dims.c:
        raise NotAppliedError(f"the output channels of {record.node.label} are not known")
    nodes, groups = layer_nodes(record), layer.groups
    last, tensors = nodes[-1], cut_input(edit, record, groups, layer.call.input_dims.c or 0, axis=1)
    parts = GroupParts(edit, last, groups, layer.call.output_dims.c)
    made_by, ends = [], []
    for group, part in enumerate(tensors):
        results = _copied(edit, parts, nodes, part, group)
        made_by.append(results[0])
        ends.append(results[-1])
    edit.insert(last, CONCAT.name, ends, [last.outputs[0]], axis=1)
    for node in nodes:
        edit.remove(node)
    text = f"becomes {groups} convolutions, one per group, between Slices and a Concat"
    return RepairMade(text, (*made_by, last.outputs[0]))


def _copied(edit: GraphEdit, parts: GroupParts, nodes: tuple[Node, ...], part: str, group: int) -> list[str]:
    """Copy the layer and what follows for one group, which reads `part`; returns what each copy makes."""
    source = nodes[0].inputs[operator_of(nodes[0]).roles.first]
    results = [part]
    for node in nodes:
        inputs = parts.inputs(node, source, results[-1], group)
        results.append(edit.fresh(f"{node.outputs[0]}_group{group + 1}"))
        changed = {"group": 1} if node is nodes[0] else {}
        edit.insert_like(
            nodes[-1], node, f"{node.name or node.outputs[0]}_group{group + 1}", inputs, results[-1:], **changed
        )
        source = node.outputs[0]
    return results[1:]


def cut_input(edit: GraphEdit, record: LoweredLayer, count: int, size: int, *, axis: int) -> list[str]:
    """Put so many Slices along an axis in front of the layer, of integers where these are dequantized.

    `size` is that of the axis; returns the parts.
    """
    node, last = record.node, layer_nodes(record)[-1]
    tensor = node.inputs[operator_of(node).roles.first]
    producer = edit.graph.producers.get(tensor)
    dequantizer = producer if producer is not None and operator_of(producer).dequantizes else None
    source = dequantizer.inputs[0] if dequantizer else tensor
    width, word = size // count, "group" if axis else "image"
    parts = []
    for part in range(count):
        piece = edit.fresh(f"{source}_{word}{part + 1}")
        _slice(edit, last, (source, piece), (part * width, (part + 1) * width), axis)
        if dequantizer is not None:
            piece, integers = edit.fresh(f"{piece}_real"), piece
            edit.insert_like(last, dequantizer, f"{piece}_node", [integers, *edit.inputs(dequantizer)[1:]], [piece])
        parts.append(piece)
    return parts


def _slice(edit: GraphEdit, before: Node, tensors: tuple[str, str], lanes: tuple[int, int], axis: int) -> None:
    """Put a Slice of `lanes[0]` to `lanes[1]` right before a node; `tensors` are its source and result."""
    source, result = tensors
    if edit.default_opset < BOUNDS_AS_INPUTS:
        edit.insert(before, SLICE.name, [source], [result], axes=[axis], starts=[lanes[0]], ends=[lanes[1]])
        return
    words = zip(("start", "end", "axis"), (*lanes, axis), strict=True)
    bounds = [edit.add_integers(f"{result}_{word}", [value]) for word, value in words]
    edit.insert(before, SLICE.name, [source, *bounds], [result])


# A pool over a batch as one pool per image, between Slices and a Concat of integers.


def apply_split_batch(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Cut the input, copy the pool and what follows for each image, and join the results. Raises NotAppliedError."""
    nodes = layer_nodes(record)
    last, images = nodes[-1], (record.layer.call.input_dims.n if record.layer else 0) or 0
    made_by, ends = [], []
    for image, part in enumerate(cut_input(edit, record, images, images, axis=0)):
        results = [part]
        for node in nodes:
            inputs = [results[-1], *edit.inputs(node)[1:]]
            results.append(edit.fresh(f"{node.outputs[0]}_image{image + 1}"))
            edit.insert_like(last, node, f"{results[-1]}_node", inputs, results[-1:])
        made_by.append(results[1])
        ends.append(results[-1])
    edit.insert(last, CONCAT.name, ends, [last.outputs[0]], axis=0)
    for node in nodes:
        edit.remove(node)
    text = f"becomes {images} pools, one per image, between Slices and a Concat"
    return RepairMade(text, (*made_by, last.outputs[0]))
