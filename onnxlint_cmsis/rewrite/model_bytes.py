"""Rewriting from bytes to bytes, so that no other room handles a protobuf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.tensor_codes import require_readable
from onnxlint_cmsis.formats.suffixes import is_tflite_path
from onnxlint_cmsis.rewrite.pad_input import InputPad, pad_input
from onnxlint_cmsis.rewrite.resize import apply

if TYPE_CHECKING:
    from onnx import ModelProto

    from onnxlint_cmsis.dims.result import Dimensions
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.planning.lane_plan import Plan
    from onnxlint_cmsis.types import InputShapes


def resized(data: bytes, graph: Graph, dimensions: Dimensions, plan: Plan) -> bytes:
    """The model with a plan applied; `graph` and `dimensions` are those of `data`. Raises NotAppliedError."""
    if is_tflite_path(graph.path):
        from onnxlint_cmsis.rewrite.tflite_resize import apply_to_tflite

        return apply_to_tflite(data, graph, dimensions, plan)
    return _serialized(apply(_parsed(data), graph, dimensions, plan))


def with_input_pad(data: bytes, path: str, input_shapes: InputShapes, pad: InputPad) -> bytes | None:
    """The model with a Pad behind an input; None where what reads it cannot grow. Raises NotAppliedError."""
    made = pad_input(_parsed(data), path, input_shapes, pad)
    return None if made is None else _serialized(made)


def check_external_data(data: bytes, path: str) -> None:
    """Raise UnreadableError where a file with external data of a model at `path` cannot be opened; read nothing."""
    if is_tflite_path(path):
        return
    require_readable(_parsed(data), path)


def _parsed(data: bytes) -> ModelProto:
    from onnx import ModelProto

    model: ModelProto = ModelProto.FromString(data)
    return model


def _serialized(model: ModelProto) -> bytes:
    data: bytes = model.SerializeToString()
    return data
