"""A `.tflite` file as plain data: what it says, number for number, with its indices checked."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from math import prod
from os import PathLike

from onnxlint_cmsis.formats.flatbuffer import Span, Table, Value
from onnxlint_cmsis.formats.onnx.wire import Buffer, open_buffer
from onnxlint_cmsis.formats.tflite.schema import OPERATORS, SCHEMA
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import MAX_AXES
from onnxlint_cmsis.model.graph import MAX_VALUES, Constant, ModelError, Number, StoredQuantization

BODIES = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "CALL_ONCE": ("init_subgraph_index",),
}
"""Options that name the subgraphs an operator runs, in the order they are planned."""
OWNERS: dict[str, tuple[str, ...]] = {f"{op.replace('_', '')}OPTIONS": (op,) for op in OPERATORS}
OWNERS["CONV3DOPTIONS"] = ("CONV_3D", "CONV_3D_TRANSPOSE")
"""Operators that a table of options belongs to, by the table's name in capitals; none for `Pool2DOptions`."""


class TfliteTensor(NamedTuple):
    """One tensor of a subgraph."""

    name: str
    """Name in the file; need not be unique."""
    elem_type: str
    """Element type in the schema's words: `INT8`, `FLOAT32`."""
    shape: tuple[int, ...]
    """Sizes; 1 in place of one that the converter left open."""
    signature: tuple[int, ...]
    """Sizes with -1 in place of those left open; empty where none is."""
    buffer: int
    """Index of the buffer with its values; a buffer without bytes means that the tensor is computed."""
    quantization: StoredQuantization | None
    """Scales and zero-points; None for a tensor that is not quantized."""
    is_variable: bool
    """Keeps its value from one run to the next."""
    encoding: str
    """Empty for plain values; else `sparse`, `external`, or the schema's name of the quantization's details."""


class TfliteOperator(NamedTuple):
    """One operator of a subgraph."""

    op: str
    """Builtin operator in the schema's words: `CONV_2D`, `CUSTOM`; `BUILTIN_300` for a number without a name."""
    custom_code: str
    """Name of a custom operator; flex operators start with `Flex`."""
    version: int
    """Version of the operator that the converter asks for."""
    inputs: tuple[int, ...]
    """Tensors read; -1 for an omitted one."""
    outputs: tuple[int, ...]
    """Tensors written."""
    intermediates: tuple[int, ...]
    """Tensors inside the operator (LSTM)."""
    options_type: str
    """Table with the options: `Conv2DOptions`; `NONE` where the file has none."""
    options: dict[str, Value]
    """Options by the schema's names, defaults filled in; enumerations by name."""
    span: Span
    """Bytes of the operator's table in the file."""
    custom_options: Span
    """Bytes of a custom operator's options."""

    @property
    def bodies(self) -> tuple[tuple[str, int], ...]:
        """Options that name subgraphs, and the subgraphs that the operator runs."""
        values = ((option, self.options.get(option)) for option in BODIES.get(self.op, ()))
        return tuple((option, value) for option, value in values if isinstance(value, int) and value >= 0)

    @property
    def title(self) -> str:
        """Operator in messages: a custom one by its own name."""
        return self.custom_code if self.op == "CUSTOM" and self.custom_code else self.op


def operator_label(subgraph: int, index: int, title: str) -> str:
    """Name of an operator in messages: `CONV_2D#3`, and `subgraph1:CONV_2D#3` where it is not in the main subgraph."""
    return f"subgraph{subgraph}:{title}#{index}" if subgraph else f"{title}#{index}"


class Subgraph(NamedTuple):
    """A list of operators in the order they run; subgraph 0 is the model."""

    name: str
    """Name in the file, possibly empty."""
    tensors: tuple[TfliteTensor, ...]
    """All tensors."""
    inputs: tuple[int, ...]
    """Tensors that the caller fills."""
    outputs: tuple[int, ...]
    """Tensors that the caller reads."""
    operators: tuple[TfliteOperator, ...]
    """Operators in the order they run."""


class ModelSignature(NamedTuple):
    """A named way to call the model (SignatureDef)."""

    key: str
    """Name of the signature."""
    subgraph: int
    """Subgraph that it calls."""
    inputs: tuple[tuple[str, int], ...]
    """Name and tensor of each input."""
    outputs: tuple[tuple[str, int], ...]
    """Name and tensor of each output."""


class TfliteModel(NamedTuple):
    """A whole file."""

    path: str
    """File as the user named it."""
    version: int
    """Version of the schema, 3 in every file of today."""
    description: str
    """Free text."""
    subgraphs: tuple[Subgraph, ...]
    """Subgraphs; 0 is the model, others are bodies of IF, WHILE, CALL_ONCE or further signatures."""
    buffers: tuple[Span, ...]
    """Where the values of constants lie; length 0 for a buffer without bytes."""
    signatures: tuple[ModelSignature, ...]
    """Named ways to call it."""
    metadata: tuple[tuple[str, int], ...]
    """Name and buffer of each metadata entry."""
    data: Buffer
    """The file, mapped."""

    def bytes_of(self, buffer: int) -> bytes:
        """Bytes of a buffer, read now."""
        offset, length = self.buffers[buffer]
        return bytes(self.data[offset : offset + length])

    def operators(self) -> Iterator[tuple[int, int, TfliteOperator]]:
        """Every operator with the numbers of its subgraph and of itself there, in the order they are prepared."""
        for number, subgraph in enumerate(self.subgraphs):
            for index, operator in enumerate(subgraph.operators):
                yield number, index, operator

    def runs_once(self) -> frozenset[int]:
        """Subgraphs that run only once: every path to them goes through a CALL_ONCE."""
        every, first = self._entered(lambda op: op != "CALL_ONCE"), self.entered()
        return frozenset(first - every)

    def entered(self) -> set[int]:
        """Subgraphs that the main one runs, itself included."""
        return self._entered(lambda _: True)

    def _entered(self, follows: Callable[[str], bool]) -> set[int]:
        """Subgraphs that the main one enters through the operators that are followed, itself included."""
        entered, pending = {0}, [0]
        while pending:
            operators = self.subgraphs[pending.pop()].operators
            bodies = {body for operator in operators if follows(operator.op) for _, body in operator.bodies} - entered
            entered |= bodies
            pending += bodies
        return entered

    def is_constant(self, tensor: TfliteTensor) -> bool:
        """Whether the file holds the tensor's values."""
        return self.buffers[tensor.buffer].length > 0


# Every index of a `.tflite` file names something that is there; otherwise the runtimes read beside their arrays.


OMITTED = -1
"""Index of an optional input that is not given."""
MAX_NESTING = 50
"""Depth to which control flow is followed."""


def check_indices(model: TfliteModel) -> None:
    """Raise ModelError (`not-a-model`) for the first index or size that cannot be."""
    if not model.subgraphs:
        raise SCHEMA.damaged("it has no subgraph")
    for number, subgraph in enumerate(model.subgraphs):
        _check_tensors(model, number, subgraph)
        _check_operators(number, subgraph, len(model.subgraphs))
        _check_order(model, number, subgraph)
    _check_nesting(model, 0, (), {})
    for name, buffer in model.metadata:
        _within(f"metadata '{name}'", "buffer", (buffer,), len(model.buffers))
    for signature in model.signatures:
        _check_signature(model, signature.key, signature.subgraph, (*signature.inputs, *signature.outputs))


def _check_tensors(model: TfliteModel, number: int, subgraph: Subgraph) -> None:
    for index, tensor in enumerate(subgraph.tensors):
        where = f"tensor {index} of subgraph {number}"
        _within(where, "buffer", (tensor.buffer,), len(model.buffers))
        if len(tensor.shape) > MAX_AXES:
            raise SCHEMA.damaged(f"{where} has {len(tensor.shape)} dimensions; at most {MAX_AXES} are allowed")
        if any(size < -1 for size in tensor.shape):
            raise SCHEMA.damaged(
                f"{where} has shape {list(tensor.shape)}; a size is at least 0, or -1 where it is unknown"
            )


def _check_operators(number: int, subgraph: Subgraph, subgraphs: int) -> None:
    count = len(subgraph.tensors)
    _within(f"subgraph {number}", "tensor", (*subgraph.inputs, *subgraph.outputs), count)
    for index, operator in enumerate(subgraph.operators):
        where = f"operator {index} ({operator.title}) of subgraph {number}"
        read = (tensor for tensor in operator.inputs if tensor != OMITTED)
        inner = (tensor for tensor in operator.intermediates if tensor != OMITTED)
        _within(where, "tensor", (*read, *operator.outputs, *inner), count)
        _within(where, "subgraph", (body for _, body in operator.bodies), subgraphs)


def _check_order(model: TfliteModel, number: int, subgraph: Subgraph) -> None:
    """Operators run in file order: none may read what itself or a later one computes."""
    writers: dict[int, int] = {}
    for index, operator in enumerate(subgraph.operators):
        for tensor in operator.outputs:
            if tensor in writers and not subgraph.tensors[tensor].is_variable:
                raise SCHEMA.damaged(
                    f"operators {writers[tensor]} and {index} of subgraph {number} both compute tensor {tensor}"
                )
            if model.is_constant(subgraph.tensors[tensor]):
                raise SCHEMA.damaged(f"operator {index} of subgraph {number} computes tensor {tensor}, a constant")
            writers[tensor] = index
    for index, operator in enumerate(subgraph.operators):
        for tensor in operator.inputs:
            if writers.get(tensor, -1) >= index and not subgraph.tensors[tensor].is_variable:
                where = f"operator {index} ({operator.title}) of subgraph {number}"
                raise SCHEMA.damaged(
                    f"{where} reads tensor {tensor}, which operator {writers[tensor]} computes: a cycle"
                )


def _check_nesting(model: TfliteModel, number: int, holders: tuple[int, ...], done: dict[int, int]) -> int:
    """Depth of the control flow under a subgraph, which must end."""
    if number in holders:
        raise SCHEMA.damaged(f"subgraph {number} runs itself")
    if len(holders) > MAX_NESTING:
        raise ModelError("too-deep", f"control flow is nested deeper than {MAX_NESTING} subgraphs")
    if number not in done:
        bodies = [body for operator in model.subgraphs[number].operators for _, body in operator.bodies]
        depths = [_check_nesting(model, body, (*holders, number), done) for body in dict.fromkeys(bodies)]
        done[number] = 1 + max(depths, default=0)
    if len(holders) + done[number] > MAX_NESTING + 1:
        raise ModelError("too-deep", f"control flow is nested deeper than {MAX_NESTING} subgraphs")
    return done[number]


def _check_signature(model: TfliteModel, key: str, subgraph: int, tensors: Iterable[tuple[str, int]]) -> None:
    where = f"signature '{key}'"
    _within(where, "subgraph", (subgraph,), len(model.subgraphs))
    count = len(model.subgraphs[subgraph].tensors)
    _within(where, "tensor", (index for _, index in tensors), count)


def _within(where: str, what: str, indices: Iterable[int], count: int) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise SCHEMA.damaged(f"{where} names {what} {index}; the file has {count}, counted from 0")


# `read_tflite`: the bytes of a `.tflite` file to a TfliteModel, checked; weights are not read.


def read_tflite(path: str | PathLike[str], data: Buffer | None = None) -> TfliteModel:
    """Read a file, or `data` in its place (`path` is then its name).

    Raises ModelError with kind `unreadable`, `lfs-pointer` or `not-a-model`.
    """
    name = str(path)
    model = _model(name, SCHEMA.root(open_buffer(name) if data is None else data))
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


# Element types of TensorFlow Lite and the values of constants, read on demand.


LETTERS = {
    "FLOAT32": "f", "FLOAT16": "e", "INT32": "i", "UINT8": "B", "INT64": "q", "BOOL": "?", "INT16": "h", "INT8": "b",
    "FLOAT64": "d", "UINT64": "Q", "UINT32": "I", "UINT16": "H",
}  # fmt: skip
"""Letter of `struct` for element types of whole bytes."""
NAMELESS = ("RESOURCE", "VARIANT")
"""Types that hold no numbers."""


def elem_type(tensor: TfliteTensor) -> str:
    """numpy-like name of a tensor's element type, empty where it has none."""
    name = tensor.elem_type
    if name in NAMELESS or "(" in name:
        return ""
    return name.lower().replace("float8_", "float8")


def constant(model: TfliteModel, tensor: TfliteTensor, key: str) -> Constant:
    """A tensor whose values the file holds; stored values, not scaled."""
    shape = tuple(max(size, 0) for size in tensor.shape)

    def read() -> tuple[Number, ...] | None:
        count = prod(shape)
        if count > MAX_VALUES or tensor.encoding:
            return None
        return _values(model.bytes_of(tensor.buffer), tensor.elem_type, count)

    return Constant(key, elem_type(tensor), shape, read, editable=not tensor.encoding)


def _values(data: bytes, kind: str, count: int) -> tuple[Number, ...] | None:
    """The first `count` values; None where the bytes are too few or the type holds no numbers."""
    if kind in ("INT4", "UINT4"):
        return _nibbles(data, count, signed=kind == "INT4")
    letter = LETTERS.get(kind)
    if letter is None or len(data) < count * struct.calcsize(letter):
        return None
    return struct.unpack_from(f"<{count}{letter}", data)


def _nibbles(data: bytes, count: int, *, signed: bool) -> tuple[int, ...] | None:
    """Two values to a byte, the lower half first."""
    if len(data) * 2 < count:
        return None
    halves = [half for byte in data for half in (byte & 15, byte >> 4)][:count]
    return tuple(half - 16 if signed and half > 7 else half for half in halves)


# Tensors and operators by where a file has them.


class TensorPlace(NamedTuple):
    """A tensor by where the file has it."""

    subgraph: int
    """Subgraph."""
    number: int
    """Tensor of the subgraph."""


class OperatorPlace(NamedTuple):
    """An operator by where the file has it before all edits."""

    subgraph: int
    """Subgraph."""
    number: int
    """Operator of the subgraph."""
