"""Tensors at the edge of an ONNX model, where QuantizeLinear and DequantizeLinear are the application's."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import isfinite
from typing import Any

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.boundary_tensor import IMAGE_RANK, INTEGERS, PASSES, BoundaryTensor, Conversion
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.dims import is_image, read_as_image
from onnxlint_cmsis.lower.find_quantization import of_input, of_integers, of_result, quantized_model
from onnxlint_cmsis.lower.memory_order import Stored, channels_last, lies_in
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.quantization import AffineQuantization
from onnxlint_cmsis.lower.stored_types import EIGHT_BITS, MOVES, STORED, dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import Elements


def of_onnx(model: ModelAnalysis, tensor: BoundaryTensor) -> Iterator[BoundaryTensor]:
    """Give a row for each way in which layers quantize the tensor."""
    graph, converted, assume = model.graph, model.execution.by_runtime, model.settings.assume
    records = (model.lowered.by_index.get(node.index) for node in _nodes_at(graph, tensor))
    computed = any(record and record.verdict in (Outcome.CMSIS_NN, Outcome.REFERENCE) for record in records)
    if computed and not converted and tensor.name in model.layout.stored:
        tensor = _in_memory(graph, tensor, model.layout.stored[tensor.name])
    assumed = computed and model.lowered.assumed and not quantized_model(graph)
    for numbers, node in _quantizations(graph, tensor):
        if numbers is not None:
            yield _with_numbers(tensor, numbers, Conversion.CONVERTER if converted else Conversion.APPLICATION, node)
        elif assumed and tensor.elem_type.startswith("float"):
            becomes = "int16" if assume in ("s16", "q15") else "int8"
            tensor = tensor._replace(elem_type=becomes)
            decided = model.holds_integers  # its floats are these integers
            yield tensor if decided else tensor._replace(integers=becomes, conversion=Conversion.QUANTIZER)
        else:
            yield tensor


def _nodes_at(graph: Graph, tensor: BoundaryTensor) -> Iterator[Node]:
    """Nodes that read an input or write an output, beyond what quantizes it or moves its elements."""
    if tensor.role == "input":
        yield from _readers(graph, tensor.name, PASSES)
        return
    node = graph.producers.get(tensor.name)
    while node is not None and node.inputs and operator_of(node).elements in PASSES:
        node = graph.producers.get(node.inputs[0])
    if node is not None:
        yield node


def _with_numbers(
    tensor: BoundaryTensor, numbers: AffineQuantization, conversion: Conversion, node: str
) -> BoundaryTensor:
    scales, zeros = numbers.scales or (), numbers.zero_points or ()
    integers = numbers.elem_type
    if not INTEGERS.fullmatch(integers):  # a damaged file may state a zero-point of another type
        return tensor._replace(conversion=conversion, node=node)
    if conversion is Conversion.APPLICATION:
        integers, zeros = integers.removeprefix("u") if integers in EIGHT_BITS else integers, numbers.signed_zero_points
        tensor = tensor._replace(elem_type=integers)
    return tensor._replace(conversion=conversion, integers=integers, node=node, **numbers_of(scales, zeros))


def numbers_of(scales: tuple[float, ...], zero_points: tuple[int, ...]) -> dict[str, Any]:
    """The one scale and zero-point of a whole tensor; none where there are several, or the scale cannot be one."""
    usable = len(scales) == 1 and zero_points and isfinite(scales[0]) and scales[0] > 0
    return {"scale": scales[0], "zero_point": zero_points[0]} if usable else {}


def _quantizations(graph: Graph, tensor: BoundaryTensor) -> Iterator[tuple[AffineQuantization | None, str]]:
    """Each quantization of a tensor with the label of the node that states it; None where it is used as it is."""
    if tensor.elem_type in STORED:
        yield of_integers(graph, tensor.name), ""
    elif tensor.role == "output":
        node = graph.producers.get(tensor.name)
        while node is not None and node.inputs and operator_of(node).elements in MOVES:
            node = graph.producers.get(node.inputs[0])
        yield (of_input(graph, node, 0), node.label) if node is not None and dequantizes(node) else (None, "")
    else:
        told: list[AffineQuantization | None] = []
        for node in _readers(graph, tensor.name, MOVES):
            numbers = of_result(graph, node) if quantizes(node) else None
            if numbers not in told:
                told.append(numbers)
                yield numbers, node.label if numbers else ""
        if not told:
            yield None, ""


def _readers(graph: Graph, name: str, passes: Collection[Elements]) -> Iterator[Node]:
    """Nodes that read a tensor, beyond those whose elements are of these kinds."""
    waiting, seen = [name], {name}
    while waiting:
        for node in graph.consumers.get(waiting.pop(0), ()):
            if operator_of(node).elements not in passes or not node.outputs:
                yield node
            elif node.outputs[0] not in seen:
                seen.add(node.outputs[0])
                waiting.append(node.outputs[0])


def _in_memory(graph: Graph, tensor: BoundaryTensor, stored: Stored) -> BoundaryTensor:
    """The tensor in the order in which its elements lie."""
    value = stored.folded_from or stored
    rank = len(value.shape)
    letters = {3: "NWC", IMAGE_RANK: "NHWC"}.get(rank, "")
    image = (read_as_image if tensor.role == "input" else is_image)(graph, tensor.name)
    if image and lies_in(value, channels_last(rank)):
        value = Stored(value.shape, channels_last(rank))
    elif not _becomes_nchw(graph, tensor.name, rank):
        letters = ""
    return tensor._replace(shape=tuple(value.shape[axis] for axis in value.order), layout=letters)


def _becomes_nchw(graph: Graph, name: str, rank: int) -> bool:
    """Tell whether a Transpose from channels last to channels first reads an input, maybe behind a QuantizeLinear."""
    around = [*graph.consumers.get(name, ())]
    around += [reader for node in around if quantizes(node) for reader in graph.consumers.get(node.outputs[0], ())]
    around += [reader for node in around if dequantizes(node) for reader in graph.consumers.get(node.outputs[0], ())]
    return rank > 1 and any(node.ints("perm") == (0, rank - 1, *range(1, rank - 1)) for node in around)
