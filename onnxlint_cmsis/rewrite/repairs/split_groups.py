"""A grouped convolution as one convolution per group between Slices and a Concat.

What follows the layer up to the tensor that its kernel writes is repeated in each group, with constants that have one
number per channel cut along; Slice and Concat then move integers of one scale, which changes none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.errors import NotAppliedError
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.operators.registry import operator_of
from onnxlint_cmsis.operators.slicing_operators import CONCAT, SLICE
from onnxlint_cmsis.rewrite.repairs.group_parts import GroupParts, refusal_of_parts
from onnxlint_cmsis.rewrite.repairs.repair import RepairMade, RepairRow

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.rewrite.graph_edit import GraphEdit

BOUNDS_AS_INPUTS = 10
"""First operator set whose Slice takes its bounds as inputs."""
MOST = 64
"""Groups above which splitting makes more nodes than anyone wants."""


def refusal(graph: Graph, record: LoweredLayer) -> str:
    """Why the layer cannot be split."""
    layer = record.layer
    if layer is None or record.epilogue is None or layer.groups < 2:
        return "what follows it is not known"
    call = layer.call
    if not call.output_dims.c or not call.input_dims.c:
        return "its channels are symbolic"
    if call.output_dims.c % layer.groups or call.input_dims.c % layer.groups:
        return f"its channels do not divide by its {layer.groups} groups"
    if layer.groups > MOST:
        return f"it has {layer.groups} groups, and splitting them would make more than {MOST} convolutions"
    if any(len(graph.consumers.get(node.outputs[0], ())) > 1 for node in layer_nodes(record)[:-1]):
        return "several nodes quantize its result"
    wrong = next((node for node in layer_nodes(record) if node.graph), None)
    parts = refusal_of_parts(graph, layer_nodes(record), call.output_dims.c)
    return parts if wrong is None else f"{wrong.label} is in a subgraph"


def apply(edit: GraphEdit, record: LoweredLayer) -> RepairMade:
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
    refusal=refusal,
    apply=apply,
)
