"""`read_tflite`: the bytes of a `.tflite` file to a TfliteModel, checked; weights are not read."""

from __future__ import annotations

from os import PathLike

from onnxlint_cmsis.formats.onnx_graph.source import LFS_START, open_buffer, reject_other_files
from onnxlint_cmsis.formats.onnx_graph.wire import Buffer
from onnxlint_cmsis.formats.tflite.file_model import (
    ModelSignature,
    Subgraph,
    TfliteModel,
    TfliteOperator,
    TfliteTensor,
)
from onnxlint_cmsis.formats.tflite.flat_file import FlatFile, Span, damaged
from onnxlint_cmsis.formats.tflite.flat_table import Table, Value, table_at
from onnxlint_cmsis.formats.tflite.index_checks import check_indices
from onnxlint_cmsis.formats.tflite.schema_names import OPERATORS
from onnxlint_cmsis.formats.tflite.schema_tables import fields
from onnxlint_cmsis.graph.model import StoredQuantization
from onnxlint_cmsis.graph.model_error import ModelError

IDENTIFIER = b"TFL3"
_DEPRECATED_LAST = 127
"""Operators up to this number stand in `deprecated_builtin_code`, a byte; newer ones in `builtin_code`."""


def read_tflite(path: str | PathLike[str], data: Buffer | None = None) -> TfliteModel:
    """Read a file, or `data` in its place (`path` is then its name).

    Raises ModelError with kind `unreadable`, `lfs-pointer` or `not-tflite`.
    """
    name = str(path)
    buffer = open_buffer(name) if data is None else data
    file = FlatFile(buffer)
    model = _model(name, table_at(file, "Model", _root(file)))
    check_indices(model)
    return model


def is_tflite(head: bytes) -> bool:
    """Whether a file that starts so is a TensorFlow Lite model."""
    return head[4:8] == IDENTIFIER


def _root(file: FlatFile) -> int:
    head = bytes(file.data[:512])
    if head.startswith(LFS_START):
        reject_other_files(file.data)
    if not head:
        raise ModelError("not-tflite", "not a TensorFlow Lite model: the file is empty")
    if not is_tflite(head):
        raise ModelError("not-tflite", "not a TensorFlow Lite model: bytes 4 to 7 are not 'TFL3'")
    return file.follow(0)


def _model(path: str, model: Table) -> TfliteModel:
    codes = tuple(_operator_code(code) for code in model.tables("operator_codes"))
    return TfliteModel(
        path=path,
        version=model.number("version"),
        description=model.text("description"),
        subgraphs=tuple(_subgraph(subgraph, codes) for subgraph in model.tables("subgraphs")),
        buffers=tuple(_buffer(buffer) for buffer in model.tables("buffers")),
        signatures=tuple(_signature(signature) for signature in model.tables("signature_defs")),
        metadata=tuple((entry.text("name"), entry.number("buffer")) for entry in model.tables("metadata")),
        data=model.file.data,
    )


def _operator_code(code: Table) -> tuple[str, str, int]:
    """Operator, custom name and version; the newer of two fields holds the number where both are used."""
    number = max(code.number("deprecated_builtin_code"), code.number("builtin_code"))
    op = OPERATORS[number] if 0 <= number < len(OPERATORS) else f"BUILTIN_{number}"
    return op, code.text("custom_code"), code.number("version")


def _buffer(buffer: Table) -> Span:
    """Where a buffer's bytes lie: in the flatbuffer, or behind it in files beyond 2 GB."""
    offset, size = buffer.number("offset"), buffer.number("size")
    if offset <= 1:
        return buffer.bytes_of("data")
    if offset + size > buffer.file.size:
        raise damaged(f"a buffer of {size} bytes at byte {offset} leads out of the file")
    return Span(offset, size)


def _subgraph(subgraph: Table, codes: tuple[tuple[str, str, int], ...]) -> Subgraph:
    return Subgraph(
        name=subgraph.text("name"),
        tensors=tuple(_tensor(tensor) for tensor in subgraph.tables("tensors")),
        inputs=subgraph.ints("inputs"),
        outputs=subgraph.ints("outputs"),
        operators=tuple(_operator(operator, codes) for operator in subgraph.tables("operators")),
    )


def _tensor(tensor: Table) -> TfliteTensor:
    quantization = tensor.table("quantization")
    return TfliteTensor(
        name=tensor.text("name"),
        elem_type=tensor.text("type"),
        shape=tensor.ints("shape"),
        signature=tensor.ints("shape_signature"),
        buffer=tensor.number("buffer"),
        quantization=_quantization(quantization) if quantization else None,
        is_variable=bool(tensor.value("is_variable")),
        encoding=_encoding(tensor, quantization),
    )


def _quantization(quantization: Table) -> StoredQuantization | None:
    scales = quantization.floats("scale")
    if not scales:
        return None
    return StoredQuantization(scales, quantization.ints("zero_point"), quantization.number("quantized_dimension"))


def _encoding(tensor: Table, quantization: Table | None) -> str:
    if tensor.has("sparsity"):
        return "sparse"
    if tensor.number("external_buffer"):
        return "external"
    details = quantization.union("details") if quantization else "NONE"
    return "" if details == "NONE" else details


def _operator(operator: Table, codes: tuple[tuple[str, str, int], ...]) -> TfliteOperator:
    index = operator.number("opcode_index")
    if index >= len(codes):
        raise damaged(f"an operator names operator code {index}; the file has {len(codes)}")
    op, custom_code, version = codes[index]
    options_type, options = _options(operator)
    return TfliteOperator(
        op=op,
        custom_code=custom_code,
        version=version,
        inputs=operator.ints("inputs"),
        outputs=operator.ints("outputs"),
        intermediates=operator.ints("intermediates"),
        options_type=options_type,
        options=options,
        span=operator.span,
        custom_options=operator.bytes_of("custom_options"),
    )


def _options(operator: Table) -> tuple[str, dict[str, Value]]:
    """Name and values of an operator's options, from whichever union holds them."""
    name = "builtin_options" if operator.union("builtin_options") != "NONE" else "builtin_options_2"
    kind, table = operator.union(name), operator.table(name)
    return kind, {field: table.value(field) for field in fields(kind)} if table else {}


def _signature(signature: Table) -> ModelSignature:
    def named(name: str) -> tuple[tuple[str, int], ...]:
        return tuple((entry.text("name"), entry.number("tensor_index")) for entry in signature.tables(name))

    key, subgraph = signature.text("signature_key"), signature.number("subgraph_index")
    return ModelSignature(key, subgraph, named("inputs"), named("outputs"))
