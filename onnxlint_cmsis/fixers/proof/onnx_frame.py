"""What the ONNX checker, shape inference and the interface say of a changed model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from onnxlint_cmsis.fixers.proof.proven import first_line
from onnxlint_cmsis.formats.onnx.checker import checker_problem
from onnxlint_cmsis.formats.onnx.library import OnnxLibraryError, infer_shapes

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from onnx import ModelProto, ValueInfoProto


def static_reason(old: bytes, new: bytes, parsed: Callable[[], tuple[ModelProto, ModelProto]]) -> str | None:
    """Why the new model may not replace the old one; None where it may. `parsed` gives both as protobufs."""
    rejected = checker_problem(new)
    if rejected is not None and checker_problem(old) is None:
        return rejected.message
    was, now = _inferred(old), _inferred(new)
    if isinstance(now, str) and not isinstance(was, str):
        return f"shape inference: {now}"
    models = parsed()
    if _frame(models[0]) != _frame(models[1]):
        return "inputs, outputs, operator sets or other properties of the model differ"
    if isinstance(was, str) or isinstance(now, str):
        return None
    given = {size.dim_param for value in models[0].graph.input for size in value.type.tensor_type.shape.dim} - {""}
    others = (output.name for output, new_output in zip(was, now, strict=True) if not _keeps(output, new_output, given))
    return next((f"shape inference finds another type or other sizes of output '{name}'" for name in others), None)


def _keeps(output: ValueInfoProto, new_output: ValueInfoProto, given: set[str]) -> bool:
    """Tell whether all that was known of an output is known still.

    A size that was open may be known now, unless it is that of an input, whose open sizes are `given` by name.
    """
    known = type(new_output)()
    known.CopyFrom(new_output)
    if output.type.HasField("tensor_type") and known.type.HasField("tensor_type"):
        if not output.type.tensor_type.HasField("shape"):
            known.type.tensor_type.ClearField("shape")
        for size, new_size in zip(output.type.tensor_type.shape.dim, known.type.tensor_type.shape.dim, strict=False):
            if not size.HasField("dim_value") and size.dim_param not in given:
                new_size.CopyFrom(size)
    return bool(output == known)


def _inferred(model: bytes) -> list[ValueInfoProto] | str:
    """Inferred outputs, or the error of shape inference."""
    try:
        inferred = infer_shapes(model, strict=True)
    except OnnxLibraryError as error:
        return first_line(error)
    return [*inferred.graph.output]


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
