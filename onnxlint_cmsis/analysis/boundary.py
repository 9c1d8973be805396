"""What numbers a model takes and gives: its inputs and outputs as they lie in the device's memory."""

from __future__ import annotations

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.boundary_tensor import BoundaryTensor
from onnxlint_cmsis.analysis.onnx_boundary import of_onnx
from onnxlint_cmsis.analysis.tflite_boundary import of_tflite
from onnxlint_cmsis.model.graph import Graph


def boundary(model: ModelAnalysis) -> tuple[BoundaryTensor, ...]:
    """Inputs, then outputs of a model, in file order; a tensor that is quantized in several ways has a row for each."""
    graph = model.graph
    ends = [("input", name) for name in graph.inputs] + [("output", name) for name in graph.outputs]
    rows = of_tflite if model.execution.reads_file else of_onnx
    return tuple(row for role, name in ends for row in rows(model, _as_stated(graph, role, name)))


def _as_stated(graph: Graph, role: str, name: str) -> BoundaryTensor:
    """A tensor as the file has it."""
    elem_type, shape = graph.elem_type(name), graph.shape(name)
    return BoundaryTensor(role, name, elem_type, shape, file_type=elem_type, file_shape=shape)
