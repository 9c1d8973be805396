"""`read_tflite`: the bytes of a `.tflite` file to a TfliteModel, checked; weights are not read."""

from __future__ import annotations

from os import PathLike

from onnxlint_cmsis.formats.flatbuffer import Span, Table, root_of
from onnxlint_cmsis.formats.onnx.opening import open_buffer
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.tflite.file_model import (
    OWNERS,
    ModelSignature,
    Subgraph,
    TfliteModel,
    TfliteOperator,
    TfliteTensor,
)
from onnxlint_cmsis.formats.tflite.indices import check_indices
from onnxlint_cmsis.formats.tflite.schema import OPERATORS, SCHEMA
from onnxlint_cmsis.model.graph import StoredQuantization


def read_tflite(path: str | PathLike[str], data: Buffer | None = None) -> TfliteModel:
    """Read a file, or `data` in its place (`path` is then its name).

    Raises ModelError with kind `unreadable`, `lfs-pointer` or `not-a-model`.
    """
    name = str(path)
    model = _model(name, root_of(SCHEMA, open_buffer(name) if data is None else data))
    check_indices(model)
    return model


def _model(path: str, model: Table) -> TfliteModel:
    codes = tuple(_operator_code(code) for code in model.tables("operator_codes"))
    return TfliteModel(
        path=path,
        version=model.number("version"),
        description=model.text("description"),
        subgraphs=tuple(
            Subgraph(
                name=subgraph.text("name"),
                tensors=tuple(_tensor(tensor) for tensor in subgraph.tables("tensors")),
                inputs=subgraph.ints("inputs"),
                outputs=subgraph.ints("outputs"),
                operators=tuple(_operator(operator, codes) for operator in subgraph.tables("operators")),
            )
            for subgraph in model.tables("subgraphs")
        ),
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
        raise SCHEMA.damaged(f"a buffer of {size} bytes at byte {offset} leads out of the file")
    return Span(offset, size)


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
        raise SCHEMA.damaged(f"an operator names operator code {index}; the file has {len(codes)}")
    op, custom_code, version = codes[index]
    name = "builtin_options" if operator.union("builtin_options") != "NONE" else "builtin_options_2"
    kind = operator.union(name)
    owned = op in OWNERS.get(kind.upper(), (op,))  # runtimes take other options for none (flatbuffer_conversions.cc)
    options = operator.table(name) if owned else None
    return TfliteOperator(
        op=op,
        custom_code=custom_code,
        version=version,
        inputs=operator.ints("inputs"),
        outputs=operator.ints("outputs"),
        intermediates=operator.ints("intermediates"),
        options_type=kind,
        options={field: options.value(field) for field in options.fields} if options else {},
        span=operator.span,
        custom_options=operator.bytes_of("custom_options"),
    )


def _signature(signature: Table) -> ModelSignature:
    def named(name: str) -> tuple[tuple[str, int], ...]:
        return tuple((entry.text("name"), entry.number("tensor_index")) for entry in signature.tables(name))

    key, subgraph = signature.text("signature_key"), signature.number("subgraph_index")
    return ModelSignature(key, subgraph, named("inputs"), named("outputs"))
