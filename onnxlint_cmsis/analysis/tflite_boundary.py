"""Tensors at the edge of a `.tflite` file, which TensorFlow Lite Micro holds as they are."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.boundary_tensor import CONVERSIONS, IMAGE_RANK, INTEGERS, BoundaryTensor, Conversion, Ties
from onnxlint_cmsis.analysis.onnx_boundary import numbers_of
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.model.graph import Graph


def of_tflite(model: ModelAnalysis, tensor: BoundaryTensor) -> Iterator[BoundaryTensor]:
    """Give a row for the tensor, with the quantization that the file states."""
    graph, name = model.graph, tensor.name
    tensor = tensor._replace(ties=Ties.AWAY, layout="NHWC" if _in_windows(graph, name) else "")
    if not tensor.elem_type.startswith("float"):
        yield _stored(graph, tensor, name, Conversion.APPLICATION)
        return
    around = [graph.producers.get(name)] if tensor.role == "output" else graph.consumers.get(name, ())
    nodes = [node for node in around if node and canonical(node) in CONVERSIONS]
    ends = [(node, node.inputs[0] if tensor.role == "output" else node.outputs[0]) for node in nodes]
    for node, integers in ends:
        yield _stored(graph, tensor, integers, Conversion.MODEL)._replace(node=node.label)
    if not ends:
        yield tensor


def _stored(graph: Graph, tensor: BoundaryTensor, integers: str, conversion: Conversion) -> BoundaryTensor:
    """The tensor with scale and zero-point that the file keeps on a tensor of integers."""
    stored, kind = graph.quantization.get(integers), graph.elem_type(integers)
    if stored is None or not INTEGERS.fullmatch(kind) or not stored.scales:
        return tensor
    numbers = numbers_of(stored.scales, stored.zero_points or (0,))
    return tensor._replace(conversion=conversion, integers=kind, **numbers)


def _in_windows(graph: Graph, name: str) -> bool:
    """Tell if a convolution or pool reads or writes a tensor of four axes, maybe beyond a change of type or a PAD."""
    ends, seen = [name], {name}
    while ends:
        end = ends.pop()
        for node in (*graph.consumers.get(end, ()), *filter(None, [graph.producers.get(end)])):
            if "stride_h" in node.attributes:
                return len(graph.shape(name) or ()) == IMAGE_RANK
            if canonical(node) in (*CONVERSIONS, "Pad"):
                more = {*node.inputs[:1], *node.outputs} - seen
                seen |= more
                ends += more
    return False
