"""Write flatbuffers from plain dicts in the schema's words, for tests: parents first, children behind them."""

from __future__ import annotations

import struct
from typing import Any

from onnxlint_cmsis.formats.flatbuffer_schema import Field, Schema
from onnxlint_cmsis.formats.tflite.schema import OPERATORS, SCHEMA


class Writer:
    """Bytes written so far; every table and vector stands behind the field that refers to it."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.data = bytearray(4) + schema.identifier

    def align(self, size: int, ahead: int = 0) -> None:
        """Zeros until what stands `ahead` bytes further is a multiple of `size`."""
        self.data += bytes(-(len(self.data) + ahead) % size)

    def table(self, kind: str, values: dict[str, Any]) -> int:
        """Position of a table; `values` by field, a union as (table name, dict)."""
        slots = {name: field for name, field in self.schema.fields(kind).items() if values.get(name) is not None}
        self.align(4)
        length = max((field.slot + 1 for field in slots.values()), default=0)
        vtable = len(self.data)
        self.data += bytes(4 + 2 * length)
        self.align(8)
        start = len(self.data)
        self.data += struct.pack("<i", start - vtable)
        places = [self._room(vtable, start, name, field, values) for name, field in slots.items()]
        struct.pack_into("<HH", self.data, vtable, 4 + 2 * length, len(self.data) - start)
        for position, field, value in places:
            struct.pack_into("<I", self.data, position, self._child(field, value) - position)
        return start

    def _room(self, vtable: int, start: int, name: str, field: Field, values: dict[str, Any]) -> tuple[int, Field, Any]:
        """Write a number, or room for an offset."""
        value = values[name]
        if field.type in self.schema.unions:
            self.data += bytes([self.schema.unions[field.type].index(value[0])])
            struct.pack_into("<H", self.data, vtable + 4 + 2 * (field.slot - 1), len(self.data) - 1 - start)
        letter, width = self.schema.scalars.get(field.type, ("I", 4))
        self.align(width)
        struct.pack_into("<H", self.data, vtable + 4 + 2 * field.slot, len(self.data) - start)
        scalar = field.type in self.schema.scalars
        self.data += struct.pack("<" + letter, self.number(field.type, value) if scalar else 0)
        return (len(self.data) - width, field, value) if not scalar else (0, field, None)

    def _child(self, field: Field, value: Any) -> int:
        if field.type in self.schema.unions:
            return self.table(*value)
        if not field.type.startswith("["):
            return self.text(value) if field.type == "string" else self.table(field.type, value)
        kind = field.type[1:-1]
        if kind not in self.schema.scalars:
            return self.tables(kind, value)
        letter, width = self.schema.scalars[kind]
        self.align(16 if kind == "ubyte" else max(4, width), 4)
        self.data += struct.pack(f"<I{len(value)}{letter}", len(value), *(self.number(kind, v) for v in value))
        return len(self.data) - 4 - width * len(value)

    def text(self, value: str) -> int:
        """Position of a string."""
        self.align(4)
        raw = value.encode()
        self.data += struct.pack("<I", len(raw)) + raw + b"\0"
        return len(self.data) - len(raw) - 5

    def tables(self, kind: str, values: list[dict[str, Any]]) -> int:
        """Position of a vector of tables."""
        self.align(4)
        start = len(self.data)
        self.data += struct.pack("<I", len(values)) + bytes(4 * len(values))
        for index, value in enumerate(values):
            position = start + 4 + 4 * index
            struct.pack_into("<I", self.data, position, self.table(kind, value) - position)
        return start

    def number(self, kind: str, value: Any) -> Any:
        """A value as its number: enumerations by name."""
        return self.schema.enums[kind].index(value) if isinstance(value, str) else value


def write(model: dict[str, Any], schema: Schema = SCHEMA, header: int = 0) -> bytes:
    """The file of a dict in the schema's words, with room for a header of some bytes behind the identifier."""
    writer = Writer(schema)
    writer.data += bytes(header)
    struct.pack_into("<I", writer.data, 0, writer.table(schema.root_type, model))
    return bytes(writer.data)


def operator_code(op: str, version: int = 1, custom_code: str | None = None) -> dict[str, Any]:
    """An OperatorCode, with its number in both fields as converters write it."""
    index = OPERATORS.index(op)
    return {
        "deprecated_builtin_code": min(index, 127),
        "builtin_code": index,
        "version": version,
        "custom_code": custom_code,
    }


def restore(described: dict[str, Any]) -> dict[str, Any]:
    """The model of a row of the sample (lab/sample_tflm.py) for `write`, weights all zero."""
    return {
        "version": 3,
        "operator_codes": [operator_code(op, version, custom or None) for op, custom, version in described["codes"]],
        "subgraphs": described["subgraphs"],
        "buffers": [
            {"data": [0] * data if isinstance(data, int) else data} if data else {} for data in described["buffers"]
        ],
    }
