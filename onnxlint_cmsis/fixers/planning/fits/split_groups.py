"""A grouped convolution as one convolution per group: all operands have to be cut along the output channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.unchangeable import check_constant
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Form
from onnxlint_cmsis.operators.control import CONSTANT_OF_SHAPE
from onnxlint_cmsis.operators.normalization import BATCH_NORMALIZATION

MOST_GROUPS = 64
"""Groups above which splitting makes more nodes than anyone wants."""


def refusal_of_split_groups(graph: Graph, record: LoweredLayer) -> str | None:
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


def refusal_of_parts(graph: Graph, nodes: Sequence[Node], channels: int) -> str | None:
    """Why the operands of a layer and of what follows it cannot be cut along its output channels; None if they can.

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
    return None


def _check_operand(graph: Graph, node: Node, position: int, channels: int) -> None:
    """Raise NotAppliedError where an operand cannot be cut along the output channels."""
    axis = channel_axis(graph, node, position, channels)
    if axis is None:
        return
    while (step := quantization_step(graph, node.inputs[position])) is not None:
        for parameter in cut_parameters(graph, step):
            check_cut(graph, step, parameter, 0, channels)
        node, position = step, 0
    check_cut(graph, node, position, axis, channels)


def channel_axis(graph: Graph, node: Node, position: int, channels: int) -> int | None:
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


def quantization_step(graph: Graph, tensor: str) -> Node | None:
    """The QuantizeLinear or DequantizeLinear that makes a tensor; None where it is stored or made otherwise."""
    producer = graph.producers.get(tensor)
    if producer is None or graph.stores(tensor):
        return None
    return producer if operator_of(producer).dequantizes or operator_of(producer).quantizes else None


def cut_parameters(graph: Graph, step: Node) -> list[int]:
    """Inputs of a QuantizeLinear or DequantizeLinear that have a number for each output channel."""
    parameters = [position for position, key in enumerate(step.inputs) if position and key]
    return [position for position in parameters if graph.shape(step.inputs[position]) not in ((), (1,))]


def check_cut(graph: Graph, node: Node, position: int, axis: int, channels: int) -> None:
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


def layer_nodes(record: LoweredLayer) -> tuple[Node, ...]:
    """The layer's node, and those behind it up to the tensor that its kernel writes."""
    return (record.node, *(record.epilogue.absorbed if record.epilogue else ()))


REPAIRED_BY_SPLIT = (
    "conv-grouped-as-dense",
    "conv-s16-grouped-as-dense",
    "conv-s4-grouped-as-dense",
    "conv-grouped-no-scratch",
    "conv-grouped-1xn-scratch",
)
"""Releases that compute groups wrongly or not at all."""


def _one_group(record: LoweredLayer) -> Iterator[KernelCall]:
    if record.layer is not None:
        call, groups = record.layer.call, record.layer.groups
        outputs = (call.output_dims.c or 0) // groups
        yield call._replace(
            input_dims=call.input_dims._replace(c=(call.input_dims.c or 0) // groups),
            filter_dims=call.filter_dims._replace(n=outputs),
            output_dims=call.output_dims._replace(c=outputs),
        )


SPLIT_GROUPS = RepairRow(
    name="split-groups",
    what="makes one convolution per group of a grouped one, between Slices and a Concat",
    hazards=frozenset(REPAIRED_BY_SPLIT),
    price="a call and copies for each group",
    unfit=refusal_of_split_groups,
    calls=_one_group,
)
