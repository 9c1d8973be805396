"""Quantization of a tensor, found in the graph: in Q/DQ pairs and in quantized operators."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isfinite

from onnxlint_cmsis.formats.names import canonical, operator_of
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.quantization import OUTPUT, AffineQuantization
from onnxlint_cmsis.lower.stored_types import MOVES, STORED, dequantizes, numbers_behind, quantizes, weights_behind
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.model.roles import Quantized, Sums
from onnxlint_cmsis.model.searches import Onward, along, among_all
from onnxlint_cmsis.operators.answers import MOVING, Elements

_KEEPS = MOVING | {Elements.JOINED, Elements.PADDED, Elements.SELECTED}
"""Elements of operators that keep the scale of integers; operators that resize keep it too."""


_REORDERS = (Elements.SAME, Elements.TRANSPOSED)
"""Elements of operators that keep an axis of scales one axis, though they may move it."""


def quantized_model(graph: Graph) -> bool:
    """Tell whether any activation of the model is quantized, so that its float nodes stay float."""
    search = "quantized model", ""
    if search not in graph.searched:
        graph.searched[search] = _any_quantized(graph)
    quantized: bool = graph.searched[search]
    return quantized


def _any_quantized(graph: Graph) -> bool:
    for node in graph.nodes:
        operator = operator_of(node)
        integers = operator.elements is Elements.MEASURED or operator.roles.sums in (Sums.INTEGERS, Sums.SCALED)
        if quantizes(node) or dequantizes(node):
            if node.inputs and weights_behind(graph, node.inputs[0]) is None:
                return True
        elif integers or parameters_of(node, -1):
            return True
    return False


def of_input(graph: Graph, node: Node, position: int) -> AffineQuantization | None:
    """Quantization of an operand, from the operator or the DequantizeLinear in front; None for float."""
    carried = parameters_of(node, position)
    if carried is not None:
        return _parameters(graph, node, carried, node.inputs[position])
    search = "quantization of an operand"
    said: AffineQuantization | None = along(graph, search, node.inputs[position], partial(_of_operand, graph))
    return said


def _of_operand(graph: Graph, tensor: str) -> AffineQuantization | Onward | None:
    if graph.elem_type(tensor) in STORED:
        return of_integers(graph, tensor)
    producer = graph.producers.get(tensor)
    if producer is None or not producer.inputs:
        return None
    if dequantizes(producer):
        return _parameters(graph, producer, Quantized(0, 1, 2), producer.inputs[0])
    return Onward(producer.inputs[0]) if operator_of(producer).elements in MOVES else None


def of_result(graph: Graph, node: Node) -> AffineQuantization | None:
    """Quantization of a node's integer result; None for a real result."""
    if not node.outputs:
        return None
    carried = parameters_of(node, -1)
    if carried is not None:
        return _parameters(graph, node, carried, node.outputs[0])
    if quantizes(node):
        return _parameters(graph, node, Quantized(-1, 1, 2), node.outputs[0])
    return of_integers(graph, node.outputs[0]) if graph.elem_type(node.outputs[0]) in STORED else None


def is_zero(graph: Graph, tensor: str) -> bool | None:
    """Tell whether a tensor is real zero in every run, through Q/DQ, casts and what moves or repeats elements.

    None where its values are stored and cannot be read, or lie further back than `REACH` nodes. A tensor that is
    computed, or that a caller may give, is not.
    """
    return _holds(graph, tensor, 0, REACH)


REACH = 100
"""How many nodes between a constant and its reader are followed for its values."""


def _holds(graph: Graph, tensor: str, wanted: int, reach: int) -> bool | None:
    """Tell whether all stored elements of a tensor are one number."""
    stored, node = graph.constants.get(tensor), graph.producers.get(tensor)
    if stored is not None:
        values = stored.values()
        return None if values is None else not stored.overridable and all(value == wanted for value in values)
    if node is None or not node.inputs or not reach:
        return None if node is not None and node.inputs else False
    if quantizes(node) or dequantizes(node):
        integers = of_result(graph, node) if quantizes(node) else of_input(graph, node, 0)
        zeros = set(integers.zero_points or ()) if integers else set()
        if len(zeros) != 1:
            return None if zeros else False
        zero = zeros.pop()
        here, before = (zero, 0) if quantizes(node) else (0, zero)
        return _holds(graph, node.inputs[0], before, reach - 1) if wanted == here else False
    if operator_of(node).elements in MOVES | {Elements.CAST} or canonical(node) in ("Expand", "Tile"):
        return _holds(graph, node.inputs[0], wanted, reach - 1)
    return False


def of_integers(graph: Graph, tensor: str) -> AffineQuantization | None:
    """Quantization of a tensor of integers: from its producer, else from its reader; None where neither says."""
    said: AffineQuantization | None = along(graph, "quantization before", tensor, partial(_of_producer, graph))
    if said is None:
        kept, told = partial(_kept_by_readers, graph), partial(_of_readers, graph)
        said = among_all(graph, "quantization behind", tensor, kept, told)
    return said


def _of_producer(graph: Graph, tensor: str) -> AffineQuantization | Onward | None:
    producer = graph.producers.get(tensor)
    if producer is None or not producer.inputs:
        return None
    if quantizes(producer) or parameters_of(producer, -1):
        return of_result(graph, producer)
    return Onward(producer.inputs[0]) if keeps_scale(producer) else None


def _kept_by_readers(graph: Graph, tensor: str) -> Iterator[str]:
    """Results of readers that have a tensor's scale."""
    for reader in graph.consumers.get(tensor, ()):
        if keeps_scale(reader) and reader.inputs[:1] == (tensor,):
            yield reader.outputs[0]


def _of_readers(graph: Graph, tensor: str, behind: list[AffineQuantization | None]) -> AffineQuantization | None:
    """Quantization that a reader says, else one of those behind readers that keep it."""
    for reader in graph.consumers.get(tensor, ()):
        position = reader.inputs.index(tensor) if tensor in reader.inputs else -1
        carried = Quantized(0, 1, 2) if dequantizes(reader) else parameters_of(reader, position)
        if carried is not None and position == carried.value:
            return _parameters(graph, reader, carried, tensor)
    return next((quantization for quantization in behind if quantization is not None), None)


def keeps_scale(node: Node) -> bool:
    """Tell whether a node on integers gives integers of the same scale."""
    return operator_of(node).elements in _KEEPS or canonical(node) in ("Resize", "Upsample")


def of_weights(graph: Graph, node: Node, position: int) -> AffineQuantization | None:
    """Quantization of weights, their axis as the layer sees them; None where they are float.

    The values of the weights are not read.
    """
    tensor, moves = node.inputs[position], []
    carried = parameters_of(node, position)
    if carried is not None:
        return _parameters(graph, node, carried, tensor)._replace(axis=OUTPUT)
    producer = graph.producers.get(tensor)
    while producer is not None and operator_of(producer).elements in _REORDERS:
        moves.append(producer)
        producer = graph.producers.get(producer.inputs[0])
    if producer is None or not dequantizes(producer):
        return None
    quantization = _parameters(graph, producer, Quantized(0, 1, 2), producer.inputs[0])
    rank = len(graph.shape(producer.inputs[0]) or ())
    for move in reversed(moves):
        order = move.permutation(rank or len(move.ints("perm")))
        if operator_of(move).elements is Elements.TRANSPOSED and order and quantization.axis in order:
            quantization = quantization._replace(axis=order.index(quantization.axis))
    return quantization


def _parameters(graph: Graph, node: Node, where: Quantized, tensor: str) -> AffineQuantization:
    """Quantization of one of a node's values, read once."""
    search = f"quantization at {node.index}, {where.scale}, {where.zero_point}", tensor
    if search not in graph.searched:
        graph.searched[search] = _read_parameters(graph, node, where, tensor)
    quantization: AffineQuantization = graph.searched[search]
    return quantization


def _read_parameters(graph: Graph, node: Node, where: Quantized, tensor: str) -> AffineQuantization:
    scale_name, zero_name = _input(node, where.scale), _input(node, where.zero_point)
    scales, zeros = numbers_behind(graph, scale_name), (0,) if not zero_name else numbers_behind(graph, zero_name)
    elem_type = graph.elem_type(tensor) or graph.elem_type(zero_name) or ("" if zero_name else "uint8")
    return AffineQuantization(
        elem_type,
        None if scales is None else tuple(map(float, scales)),
        None if zeros is None or not all(map(isfinite, zeros)) else tuple(map(int, zeros)),
        _axis(graph, node, tensor),
        bool(node.int("block_size")),
    )


def _axis(graph: Graph, node: Node, tensor: str) -> int:
    """Axis of several scales, counted from the first where the rank is known."""
    axis, rank = node.int("axis", 1), len(graph.shape(tensor) or ())
    return axis + rank if axis < 0 else axis


def _input(node: Node, position: int) -> str:
    return node.inputs[position] if 0 <= position < len(node.inputs) else ""


def per_channel(graph: Graph, node: Node, position: int, channels: int | None) -> bool:
    """Tell whether the weights carry one scale per output channel.

    A layer that computes in float carries none: it becomes a per-tensor layer unless the converter says otherwise.
    """
    carried = parameters_of(node, position)
    if carried is not None:
        return scale_count(graph, _input(node, carried.scale)) > 1
    producer = graph.producers.get(node.inputs[position])
    while producer is not None and operator_of(producer).elements in _REORDERS:
        producer = graph.producers.get(producer.inputs[0])
    if producer is None or not dequantizes(producer):
        return False
    return scale_count(graph, producer.inputs[1]) > 1 and channels != 1


def scale_count(graph: Graph, scale: str) -> int:
    """Count the entries of a scale tensor; 1 where its shape is unknown."""
    count = 1
    for size in graph.shape(scale) or ():
        count *= size or 1
    return count
