"""What a `.tflite` file says and its graph does not keep.

Every field of the schema is kept by the graph (`READ`), has no meaning for what is computed (`NOTES`), or is left over.
So a field that a later schema adds is left over, too: where nothing is known of it, nobody can read its content.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from onnxlint_cmsis.formats.flatbuffer import Table, root_of, table_at
from onnxlint_cmsis.formats.tflite.constants import NAMELESS
from onnxlint_cmsis.formats.tflite.file_model import OWNERS, TfliteModel, TfliteOperator
from onnxlint_cmsis.formats.tflite.memory_plan import OFFLINE_PLAN
from onnxlint_cmsis.formats.tflite.schema import SCHEMA
from onnxlint_cmsis.model.leftovers import Left

VERSION = 3
"""Version of the schema; runtimes refuse all others."""
OPTIONS = ("builtin_options", "builtin_options_2")
"""Fields of an operator that hold its options."""
READ: Mapping[str, Collection[str]] = {
    "Model": ("version", "operator_codes", "subgraphs", "buffers", "metadata", "signature_defs"),
    "OperatorCode": ("deprecated_builtin_code", "builtin_code", "custom_code", "version"),
    "SubGraph": ("tensors", "inputs", "outputs", "operators"),
    "Tensor": ("shape", "type", "buffer", "quantization", "is_variable"),
    "QuantizationParameters": ("scale", "zero_point", "quantized_dimension"),
    "Operator": ("opcode_index", "inputs", "outputs", *OPTIONS),
    "Buffer": ("data", "offset", "size"),
    "Metadata": ("name", "buffer"),
    "SignatureDef": ("inputs", "outputs", "signature_key", "subgraph_index"),
    "TensorMap": ("name", "tensor_index"),
}
"""Fields that the graph keeps; those of one table of options are attributes."""
NOTES: Mapping[str, Collection[str]] = {
    "Model": ("description", "metadata_buffer"),
    "SubGraph": ("name", "debug_metadata_index"),
    "Tensor": ("name", "shape_signature", "has_rank"),
    "QuantizationParameters": ("min", "max"),
    "Operator": ("custom_options_format", "debug_metadata_index"),
    "SignatureDef": ("deprecated_tag",),
}
"""Fields without meaning for what is computed: names, ranges that were measured, sizes that are open."""
NOTED = ("min_runtime_version", "CONVERSION_METADATA", "TFLITE_METADATA", OFFLINE_PLAN)
"""Metadata without meaning for what is computed; a memory plan is judged by itself, where there is a runtime."""
EMPTY = (0, "", ())
"""Values that say nothing."""


def of_operators(model: TfliteModel) -> Mapping[int, tuple[Left, ...]]:
    """Leftovers of the operators of all subgraphs, by the place of their table in the file."""
    root = root_of(SCHEMA, model.data)
    codes = [(*_fields(code),) for code in root.tables("operator_codes")]
    told: dict[int, tuple[Left, ...]] = {}
    for subgraph, known in zip(root.tables("subgraphs"), model.subgraphs, strict=True):
        for table, operator in zip(subgraph.tables("operators"), known.operators, strict=True):
            options = [left for name in OPTIONS for left in _options(table, name, operator)]
            told[table.span.offset] = (*codes[table.number("opcode_index")], *_fields(table), *options)
    return told


def _options(table: Table, name: str, operator: TfliteOperator) -> Iterator[Left]:
    """Options that are no attributes: of another operator, a second table of them, fields or values without a name."""
    kind = table.union(name)
    owned = kind == operator.options_type and operator.op in OWNERS.get(kind.upper(), (operator.op,))
    if owned and not kind.isdigit():
        options = _below(table, name)
        yield from () if options is None else (*_unnamed(options), *_unlisted(options))
    else:
        yield from _left(f"{name} {kind}", partial(_value, table, name))  # runtimes take them for none


def _unlisted(options: Table) -> Iterator[Left]:
    """Values that an enumeration does not have: runtimes take one for whatever their code falls through to."""
    for name, field in options.fields.items():
        listed = options.file.schema.enums.get(field.type)
        if listed is not None and options.number(name) not in range(len(listed)):
            yield Left(f"{name} {options.number(name)}", _digest(options.number(name)))


def of_tensors(model: TfliteModel) -> list[list[tuple[Left, ...]]]:
    """Leftovers of the tensors of each subgraph."""
    return [
        [(*_fields(tensor), *_type(tensor), *_quantization(tensor)) for tensor in subgraph.tables("tensors")]
        for subgraph in root_of(SCHEMA, model.data).tables("subgraphs")
    ]


def _type(tensor: Table) -> Iterator[Left]:
    """A type that holds no numbers, or that the schema does not have."""
    name = tensor.text("type")
    if name in NAMELESS or "(" in name:
        yield Left(f"type {name}", name.encode())


def _quantization(tensor: Table) -> Iterator[Left]:
    """Fields of the quantization that are not read, and zero-points that are not as many as scales."""
    quantization = tensor.table("quantization")
    if quantization is None:
        return
    yield from _fields(quantization)
    scales, zero_points = quantization.floats("scale"), quantization.ints("zero_point")
    if len(scales) != len(zero_points) and (scales or any(zero_points)):
        yield Left(f"{len(zero_points)} zero-points for {len(scales)} scales", _digest((scales, zero_points)))


def of_file(model: TfliteModel) -> tuple[Left, ...]:
    """Leftovers of the file: subgraphs that no operator enters, metadata that runtimes act on."""
    root, entered = root_of(SCHEMA, model.data), model.entered()
    left = [*_fields(root)]
    left += [Left(f"version {model.version}", None)] * (model.version != VERSION)
    for kind in ("buffers", "metadata", "signature_defs"):
        left += [item for table in root.tables(kind) for item in _fields(table)]
    for number, subgraph in enumerate(root.tables("subgraphs")):
        left += _fields(subgraph)
        if number not in entered:
            values = [model.bytes_of(tensor.buffer) for tensor in model.subgraphs[number].tensors]
            told = f"subgraph {number}, which nothing enters"
            left += _left(told, partial(_content, subgraph, values))
    main = model.subgraphs[0]
    fixed = [position for position, number in enumerate(main.inputs) if model.is_constant(main.tensors[number])]
    left += [Left(f"input {position}, which is a constant", _digest(len(main.inputs))) for position in fixed]
    acting = [(name, buffer) for name, buffer in model.metadata if name not in NOTED]
    left += [Left(f"metadata '{name}'", _digest(model.bytes_of(buffer))) for name, buffer in acting]
    if acting:
        left.append(Left("the order of tensors and operators, which metadata name by number", _digest(_order(model))))
    return tuple(left)


def _order(model: TfliteModel) -> list[Any]:
    """What numbers of tensors and operators mean."""
    return [
        (
            [(tensor.shape, tensor.elem_type, model.is_constant(tensor)) for tensor in subgraph.tensors],
            [(operator.op, operator.inputs, operator.outputs) for operator in subgraph.operators],
        )
        for subgraph in model.subgraphs
    ]


def _fields(table: Table) -> Iterator[Left]:
    """Fields of a table that are given, and neither read nor notes."""
    known = {*READ.get(table.kind, ()), *NOTES.get(table.kind, ())}
    for name in table.fields:
        if name not in known and table.has(name):
            yield from _left(name, partial(_value, table, name))
    yield from _unnamed(table)


def _left(what: str, read: Callable[[], Any]) -> Iterator[Left]:
    """What is left over, if it says anything."""
    try:
        content = read()
    except _UnreadableError:
        yield Left(what, None)
    else:
        if content not in EMPTY:
            yield Left(what, _digest(content))


def _unnamed(table: Table) -> Iterator[Left]:
    """Fields that the schema does not have; nobody knows where one ends."""
    schema = table.file.schema
    known = {field.slot for field in table.fields.values()}
    known |= {field.slot - 1 for field in table.fields.values() if field.type in schema.unions}
    for slot in sorted(table.slots() - known):
        yield Left(f"field {slot} of {table.kind}", None)


def _value(table: Table, name: str) -> Any:
    """What a field holds, with the tables below it."""
    field, schema = table.fields[name], table.file.schema
    inner = field.type[1:-1] if field.type.startswith("[") else ""
    if field.type in schema.scalars or field.type == "string" or inner in schema.scalars:
        return table.value(name)
    if inner:
        return tuple(_content(below) for below in table.tables(name))
    child = _below(table, name)
    return "" if child is None else (child.kind, _content(child))


def _below(table: Table, name: str) -> Table | None:
    """The table that a field refers to, also of a kind without fields; None for nothing. Raises _UnreadableError."""
    field, position = table.fields[name], table.position(name)
    kind = table.union(name) if field.type in table.file.schema.unions else field.type
    if kind == "NONE" or not position:
        return None
    if kind.isdigit():
        raise _UnreadableError
    return table_at(table.file, kind, table.file.follow(position))


class _UnreadableError(Exception):
    """A table, or a field of it, that the schema does not have."""


def _content(table: Table, *more: Any) -> Any:
    """All that a table holds, whatever place of the file it stands at, and more. Raises _UnreadableError."""
    if next(_unnamed(table), None):
        raise _UnreadableError
    return [*((name, _value(table, name)) for name in table.fields if table.has(name)), *more]


def _digest(content: Any) -> bytes:
    import hashlib

    return hashlib.sha256(repr(content).encode()).digest()
