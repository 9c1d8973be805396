"""Repairs that split a layer: by groups, or by images of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.fixers.repairs.repair import RepairMade, RepairRow
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.lower.layer import operands
from onnxlint_cmsis.operators.control import CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.mixing import BATCH_NORMALIZATION
from onnxlint_cmsis.operators.movement import CONCAT, SLICE
from onnxlint_cmsis.operators.record import Form
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.planning.layouts import check_constant

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.edits.onnx import GraphEdit
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.model.graph import Graph, Node


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


# A grouped convolution as one convolution per group between Slices and a Concat.
#
# What follows the layer up to the tensor that its kernel writes is repeated in each group, with constants that have
# one
# number per channel cut along; Slice and Concat then move integers of one scale, which changes none of them.


BOUNDS_AS_INPUTS = 10
"""First operator set whose Slice takes its bounds as inputs."""
MOST_GROUPS = 64
"""Groups above which splitting makes more nodes than anyone wants."""


def refusal_of_split_groups(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer cannot be split."""
    layer = record.layer
    if layer is None or record.epilogue is None or layer.groups < 2:
        return "what follows it is not known"
    call = layer.call
    if not call.output_dims.c or not call.input_dims.c:
        return "its channels are symbolic"
    if call.output_dims.c % layer.groups or call.input_dims.c % layer.groups:
        return f"its channels do not divide by its {layer.groups} groups"
    if layer.groups > MOST_GROUPS:
        return f"it has {layer.groups} groups, and splitting them would make more than {MOST_GROUPS} convolutions"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    parts = refusal_of_parts(graph, layer_nodes(record), call.output_dims.c)
    return parts if wrong is None else f"{wrong.label} is in a subgraph"


def apply_split_groups(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Cut the input, copy the layer and its epilogue for each group, and join the results."""
    layer = record.layer
    if layer is None or not layer.call.output_dims.c:
        raise NotAppliedError(f"the output channels of {record.node.label} are not known")
    nodes, groups = layer_nodes(record), layer.groups
    last, tensors = nodes[-1], cut_input(edit, record, groups, layer.call.input_dims.c or 0, axis=1)
    parts = GroupParts(edit, last, groups, layer.call.output_dims.c)
    made_by, ends = [], []
    for group, part in enumerate(tensors):
        made = _copied(edit, parts, nodes, part, group)
        made_by.append(made[0])
        ends.append(made[-1])
    edit.insert(last, CONCAT.name, ends, [last.outputs[0]], axis=1)
    for node in nodes:
        edit.remove(node)
    text = f"becomes {groups} convolutions, one per group, between Slices and a Concat"
    return RepairMade(text, (*made_by, last.outputs[0]))


def _copied(edit: GraphEdit, parts: GroupParts, nodes: tuple[Node, ...], part: str, group: int) -> list[str]:
    """Copy the layer and what follows for one group, which reads `part`; returns what each copy makes."""
    source = nodes[0].inputs[operands(nodes[0].domain, nodes[0].op_type).activation]
    made = [part]
    for node in nodes:
        inputs = parts.inputs(node, source, made[-1], group)
        made.append(edit.fresh(f"{node.outputs[0]}_group{group + 1}"))
        changed = {"group": 1} if node is nodes[0] else {}
        edit.insert_like(
            nodes[-1], node, f"{node.name or node.outputs[0]}_group{group + 1}", inputs, made[-1:], **changed
        )
        source = node.outputs[0]
    return made[1:]


def layer_nodes(record: LoweredLayer) -> tuple[Node, ...]:
    """The layer's node, and those behind it up to the tensor that its kernel writes."""
    return (record.node, *(record.epilogue.absorbed if record.epilogue else ()))


def cut_input(edit: GraphEdit, record: LoweredLayer, count: int, size: int, *, axis: int) -> list[str]:
    """Put so many Slices along an axis in front of the layer, of integers where these are dequantized.

    `size` is that of the axis; returns the parts.
    """
    node, last = record.node, layer_nodes(record)[-1]
    tensor = node.inputs[operands(node.domain, node.op_type).activation]
    producer = edit.graph.producers.get(tensor)
    dequantizer = producer if producer is not None and operator_of(producer).dequantizes else None
    source = dequantizer.inputs[0] if dequantizer else tensor
    width, word = size // count, "group" if axis else "image"
    parts = []
    for part in range(count):
        made = edit.fresh(f"{source}_{word}{part + 1}")
        _slice(edit, last, (source, made), (part * width, (part + 1) * width), axis)
        if dequantizer is not None:
            made, integers = edit.fresh(f"{made}_real"), made
            edit.insert_like(last, dequantizer, f"{made}_node", [integers, *edit.inputs(dequantizer)[1:]], [made])
        parts.append(made)
    return parts


def _slice(edit: GraphEdit, before: Node, tensors: tuple[str, str], lanes: tuple[int, int], axis: int) -> None:
    """Put a Slice of `lanes[0]` to `lanes[1]` right before a node; `tensors` are its source and result."""
    source, made = tensors
    if edit.default_opset < BOUNDS_AS_INPUTS:
        edit.insert(before, SLICE.name, [source], [made], axes=[axis], starts=[lanes[0]], ends=[lanes[1]])
        return
    words = zip(("start", "end", "axis"), (*lanes, axis), strict=True)
    bounds = [edit.add_integers(f"{made}_{word}", [value]) for word, value in words]
    edit.insert(before, SLICE.name, [source, *bounds], [made])


HAZARDS = (
    "conv-grouped-as-dense",
    "conv-s16-grouped-as-dense",
    "conv-s4-grouped-as-dense",
    "conv-grouped-no-scratch",
    "conv-grouped-1xn-scratch",
)
"""Releases that compute groups wrongly or not at all."""
SPLIT_GROUPS = RepairRow(
    name="split-groups",
    what="makes one convolution per group of a grouped one, between Slices and a Concat",
    hazards=frozenset(HAZARDS),
    price="a call for each group, and copies of input and output by Slice and Concat",
    free=False,
    refusal=refusal_of_split_groups,
    apply=apply_split_groups,
)


# A pool over a batch as one pool per image, between Slices and a Concat of integers.


MOST_IMAGES = 16
"""Images above which splitting makes more nodes than anyone wants."""


def refusal_of_split_batch(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer cannot be split."""
    images = record.layer.call.input_dims.n if record.layer else None
    if not images or record.epilogue is None:
        return "the size of its batch is not known"
    if images > MOST_IMAGES:
        return f"its batch has {images} images, and splitting it would make more than {MOST_IMAGES} pools"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    return f"{wrong.label} is in a subgraph" if wrong is not None else ""


def apply_split_batch(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
    """Cut the input, copy the pool and what follows for each image, and join the results. Raises NotAppliedError."""
    nodes = layer_nodes(record)
    last, images = nodes[-1], (record.layer.call.input_dims.n if record.layer else 0) or 0
    made_by, ends = [], []
    for image, part in enumerate(cut_input(edit, record, images, images, axis=0)):
        made = [part]
        for node in nodes:
            inputs = [made[-1], *edit.inputs(node)[1:]]
            made.append(edit.fresh(f"{node.outputs[0]}_image{image + 1}"))
            edit.insert_like(last, node, f"{made[-1]}_node", inputs, made[-1:])
        made_by.append(made[1])
        ends.append(made[-1])
    edit.insert(last, CONCAT.name, ends, [last.outputs[0]], axis=0)
    for node in nodes:
        edit.remove(node)
    text = f"becomes {images} pools, one per image, between Slices and a Concat"
    return RepairMade(text, (*made_by, last.outputs[0]))


SPLIT_BATCH = RepairRow(
    name="split-batch",
    what="makes one pool per image of one over a batch, between Slices and a Concat",
    hazards=frozenset({"avgpool-one-image", "avgpool-s16-one-image", "max-pool-one-image", "max-pool-s16-one-image"}),
    price="a call for each image, and copies of input and output by Slice and Concat",
    free=False,
    refusal=refusal_of_split_batch,
    apply=apply_split_batch,
)
