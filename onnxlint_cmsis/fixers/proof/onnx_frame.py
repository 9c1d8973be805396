"""What the ONNX checker, shape inference and the interface say of a changed model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.proof.proven import first_line
from onnxlint_cmsis.formats.onnx.checker import checker_problem
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, infer_shapes

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from onnx import ModelProto


def static_reason(old: bytes, new: bytes, parsed: Callable[[], tuple[ModelProto, ModelProto]]) -> str | None:
    """Why the new model may not replace the old one; None where it may. `parsed` gives both as protobufs."""
    rejected = checker_problem(new)
    if rejected is not None and checker_problem(old) is None:
        return rejected.message
    inferred = _inferred(old), _inferred(new)
    if isinstance(inferred[1], str) and not isinstance(inferred[0], str):
        return f"shape inference: {inferred[1]}"
    before, after = (_frame(model) for model in parsed())
    if before != after:
        return "inputs, outputs, operator sets or other properties of the model differ"
    if not any(isinstance(outputs, str) for outputs in inferred) and inferred[0] != inferred[1]:
        return "shape inference finds other outputs"
    return None


def _inferred(model: bytes) -> list[bytes] | str:
    """Inferred outputs, or the error of shape inference."""
    try:
        inferred = infer_shapes(model, strict=True)
    except OnnxLibraryError as error:
        return first_line(error)
    return [value.SerializeToString(deterministic=True) for value in inferred.graph.output]


def _frame(model: ModelProto) -> bytes:
    """The model without its nodes and constants."""
    frame, graph = type(model)(), type(model.graph)()
    _take(frame, model, without=("graph",))
    _take(graph, model.graph, without=("node", "initializer", "sparse_initializer", "value_info", "input"))
    constants = {tensor.name for tensor in model.graph.initializer}
    constants |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    graph.input.extend(value for value in model.graph.input if value.name not in constants)
    return b"".join(part.SerializeToString(deterministic=True) for part in (frame, graph))


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
