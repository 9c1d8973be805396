"""uint8 tensors that can be int8: those that operators tie to one type go together, or stay together."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.graph.model import Graph, Node
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.quantization import keeps_scale
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes
from onnxlint_cmsis.operators.curve_operators import CLIP, RELU
from onnxlint_cmsis.operators.facets import MOVING, Elements
from onnxlint_cmsis.operators.registry import operator_of

_BETWEEN = MOVING | {Elements.JOINED, Elements.PADDED, Elements.SELECTED}
"""Elements of operators that hand integers on, whatever their zero-point."""
BOUNDS = {Elements.PADDED: (2,)}
"""Inputs of such operators that hold an integer to compare or fill with."""
CLIP_BOUNDS = (1, 2)
"""Inputs of Clip with its bounds."""


def unsigned_tensors(graph: Graph) -> Iterator[str]:
    """uint8 tensors that can be int8, in file order."""
    found = [name for name in _tensors(graph) if graph.elem_type(name) == "uint8"]
    groups = {name: place for place, name in enumerate(found)}
    for node in graph.nodes:
        tied = [name for name in tied_tensors(node) if name in groups]
        first = {groups[name] for name in tied}
        groups.update({name: min(first) for name, group in groups.items() if first and group in first})
    barred = {groups[name] for name in found if not _movable(graph, name)}
    yield from (name for name in found if groups[name] not in barred)


def tied_tensors(node: Node) -> tuple[str, ...]:
    """Values of a node that have to be of one type; those of QuantizeLinear and DequantizeLinear go alone."""
    if quantizes(node) or dequantizes(node):
        return ()
    if hands_on(node):
        return (*(name for name in _handed(node) if name), *node.outputs[:1])
    places = operator_of(node).roles.quantized_of(len(node.inputs))
    return tuple(
        node.inputs[each.value] if each.value >= 0 else node.outputs[0] for each in places if _has(node, each.value)
    )


def hands_on(node: Node) -> bool:
    """Whether a node gives out integers that it reads, so that 128 may be taken off before as well as behind."""
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
    return (node.inputs[0],) if node.inputs else ()


def _has(node: Node, value: int) -> bool:
    return bool(node.outputs) if value < 0 else value < len(node.inputs) and bool(node.inputs[value])


def _tensors(graph: Graph) -> Iterator[str]:
    """Tensors of the main graph that some node reads as quantized integers or hands on."""
    seen: dict[str, None] = {}
    for node in graph.nodes:
        dequantized = node.inputs[:1] if dequantizes(node) else ()
        seen.update(dict.fromkeys(name for name in (*dequantized, *tied_tensors(node)) if name))
    return iter(seen)


def _movable(graph: Graph, tensor: str) -> bool:
    """Whether all that makes and reads a tensor can do so in int8."""
    producer, readers = graph.producers.get(tensor), graph.consumers.get(tensor, ())
    if tensor in graph.outputs or tensor in graph.inputs:
        return False
    if graph.stores(tensor):
        constant = graph.constants[tensor]
        makes = not constant.overridable and constant.editable
    else:
        makes = producer is not None and not producer.graph and _takes(graph, producer, -1)
    places = [(node, place) for node in readers for place, name in enumerate(node.inputs) if name == tensor]
    return makes and all(not node.graph and not node.bodies and _takes(graph, node, place) for node, place in places)


def _takes(graph: Graph, node: Node, value: int) -> bool:
    """Whether a node can read or make a value in int8; what it is filled with or shifted by has to be stored."""
    if hands_on(node) and (value < 0 or node.inputs[value] in _handed(node)):
        return all(place >= len(node.inputs) or _stored(graph, node.inputs[place]) for place in filled_with(node))
    ends = quantizes(node) if value < 0 else dequantizes(node) and value == 0
    carried = parameters_of(node, value)
    if carried is None and not ends:
        return False
    place = carried.zero_point if carried is not None else 2
    return place >= len(node.inputs) or _stored(graph, node.inputs[place])


def _stored(graph: Graph, name: str) -> bool:
    return not name or (graph.stores(name) and not graph.constants[name].overridable)
