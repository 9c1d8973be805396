"""Checks of a changed model without running it: checker, shape inference, interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.onnx_graph.checker import checker_problem
from onnxlint_cmsis.formats.onnx_graph.onnx_library import OnnxLibraryError, infer_shapes
from onnxlint_cmsis.proof.proven_model import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from google.protobuf.message import Message
    from onnx import GraphProto, ModelProto, ValueInfoProto


def static_reason(old: bytes, new: bytes, parsed: Callable[[], tuple[ModelProto, ModelProto]]) -> str:
    """Why the new model may not replace the old one; empty where it may. `parsed` gives both as protobufs."""
    rejected = checker_problem(new)
    if rejected is not None and checker_problem(old) is None:
        return rejected.message
    inferred = _inferred(old), _inferred(new)
    if isinstance(inferred[1], str) and not isinstance(inferred[0], str):
        return f"shape inference: {inferred[1]}"
    frames = [_frame(model) for model in parsed()]
    if frames[0] != frames[1]:
        return "inputs, outputs, operator sets or other properties of the model differ"
    if not any(isinstance(one, str) for one in inferred) and inferred[0] != inferred[1]:
        return "shape inference finds other outputs"
    return ""


def _inferred(model: bytes) -> list[bytes] | str:
    """Inferred outputs, or the error of shape inference."""
    try:
        found = infer_shapes(model, strict=True)
    except OnnxLibraryError as error:
        return first_line(error)
    return [value.SerializeToString(deterministic=True) for value in found.graph.output]


def _frame(model: ModelProto) -> bytes:
    """The model without its nodes and constants."""
    frame, graph = type(model)(), type(model.graph)()
    _take(frame, model, without=("graph",))
    _take(graph, model.graph, without=("node", "initializer", "sparse_initializer", "value_info", "input"))
    graph.input.extend(_interface(model.graph))
    return b"".join(one.SerializeToString(deterministic=True) for one in (frame, graph))


def _take(new: Message, old: Message, without: Collection[str]) -> None:
    """Copy all fields of a message but some, whose bytes may be many."""
    for field, value in old.ListFields():
        if field.name in without:
            continue
        if hasattr(value, "extend"):
            getattr(new, field.name).extend(value)
        elif hasattr(value, "CopyFrom"):
            getattr(new, field.name).CopyFrom(value)
        else:
            setattr(new, field.name, value)


def _interface(graph: GraphProto) -> list[ValueInfoProto]:
    constants = {tensor.name for tensor in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in constants]
