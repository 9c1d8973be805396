"""A grouped convolution as one convolution per group between Slices and a Concat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.fixers.planning.fits.split_groups import layer_nodes
from onnxlint_cmsis.fixers.repairs.group_parts import GroupParts
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.operators.slicing import CONCAT, SLICE

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx_edit import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Node


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
