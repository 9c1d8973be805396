"""uint8 tensors that can be int8: those that operators tie to one type go together, or stay together."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.find_quantization import keeps_scale
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import MOVING, Elements
from onnxlint_cmsis.operators.curve import CLIP, RELU

_BETWEEN = MOVING | {Elements.JOINED, Elements.PADDED, Elements.SELECTED}
"""Elements of operators that hand integers on, whatever their zero-point."""
BOUNDS = {Elements.PADDED: (2,)}
"""Inputs of such operators that hold an integer to compare or fill with."""
CLIP_BOUNDS = (1, 2)
"""Inputs of Clip with its bounds."""


def unsigned_nodes(graph: Graph) -> Iterator[Node]:
    """The first node that reads or makes a uint8 tensor which can be int8: one repair is for the whole model."""
    first = next(unsigned_tensors(graph), "")
    users = (*graph.consumers.get(first, ()), graph.producers.get(first)) if first else ()
    return (node for node in users[:1] if node is not None)


def unsigned_tensors(graph: Graph) -> Iterator[str]:
    """uint8 tensors that can be int8, in file order."""
    tensors = [name for name in _tensors(graph) if graph.elem_type(name) == "uint8"]
    groups = {name: number for number, name in enumerate(tensors)}
    for node in graph.nodes:
        tied = [name for name in tied_tensors(node) if name in groups]
        first = {groups[name] for name in tied}
        groups.update({name: min(first) for name, group in groups.items() if first and group in first})
    barred = {groups[name] for name in tensors if not _movable(graph, name)}
    yield from (name for name in tensors if groups[name] not in barred)


def tied_tensors(node: Node) -> tuple[str, ...]:
    """Values of a node that have to be of one type; those of QuantizeLinear and DequantizeLinear go alone."""
    if quantizes(node) or dequantizes(node):
        return ()
    if hands_on(node):
        return (*(name for name in _handed(node) if name), *node.outputs[:1])
    ties = operator_of(node).roles.quantized_of(len(node.inputs))
    return tuple(node.inputs[tie.value] if tie.value >= 0 else node.outputs[0] for tie in ties if _has(node, tie.value))


def hands_on(node: Node) -> bool:
    """Tell whether a node gives out integers that it reads, so that 128 may be taken off before as well as behind."""
    operator = operator_of(node)
    if operator is CLIP:
        return True
    if operator.elements not in _BETWEEN:
        return keeps_scale(node) and node.text("mode", "nearest") == "nearest"  # an operator that resizes
    return operator is not RELU and not operator.roles.quantized


def filled_with(node: Node) -> tuple[int, ...]:
    """Inputs of a node that hands integers on which hold such integers themselves, to clamp to or to fill with."""
    if operator_of(node) is CLIP:
        return CLIP_BOUNDS
    return BOUNDS.get(operator_of(node).elements, ())


def _handed(node: Node) -> tuple[str, ...]:
    if operator_of(node).elements is Elements.JOINED:
        return tuple(node.inputs)
    return node.inputs[:1]


def _has(node: Node, value: int) -> bool:
    return bool(node.outputs) if value < 0 else node.has(value)


def _tensors(graph: Graph) -> Iterator[str]:
    """Tensors of the main graph that some node reads as quantized integers or hands on."""
    seen: dict[str, None] = {}
    for node in graph.nodes:
        dequantized = node.inputs[:1] if dequantizes(node) else ()
        seen.update(dict.fromkeys(name for name in (*dequantized, *tied_tensors(node)) if name))
    return iter(seen)


def _movable(graph: Graph, tensor: str) -> bool:
    """Tell whether all that makes and reads a tensor can do so in int8."""
    producer, readers = graph.producers.get(tensor), graph.consumers.get(tensor, ())
    if tensor in graph.ends or tensor in graph.inputs:
        return False
    if graph.stores(tensor):
        constant = graph.constants[tensor]
        makes = not constant.overridable and constant.editable
    else:
        makes = producer is not None and not producer.graph and _takes(graph, producer, -1)
    uses = [(node, position) for node in readers for position, name in enumerate(node.inputs) if name == tensor]
    return makes and all(
        not node.graph and not node.bodies and _takes(graph, node, position) for node, position in uses
    )


def _takes(graph: Graph, node: Node, value: int) -> bool:
    """Tell whether a node can read or make a value in int8; what it is filled with or shifted by has to be stored."""
    if hands_on(node) and (value < 0 or node.inputs[value] in _handed(node)):
        return all(
            position >= len(node.inputs) or _stored(graph, node.inputs[position]) for position in filled_with(node)
        )
    ends = quantizes(node) if value < 0 else dequantizes(node) and value == 0
    carried = parameters_of(node, value)
    if carried is None and not ends:
        return False
    position = carried.zero_point if carried is not None else 2
    return position >= len(node.inputs) or _stored(graph, node.inputs[position])


def _stored(graph: Graph, name: str) -> bool:
    return not name or (graph.stores(name) and not graph.constants[name].overridable)


SIGNED_INTEGERS = RepairRow(
    name="signed-integers",
    what="makes int8 of uint8 tensors: 128 off integers and zero-points",
    price="nothing",
    free=True,
    rule="unsigned-integers",
    nodes=unsigned_nodes,
    whole=True,
    as_written=True,
)
