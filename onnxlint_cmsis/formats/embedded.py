"""Models in the bytes of something else, such as firmware: where a file of each format begins, and how long it is.

A mark alone is no model: what follows it has to read as the tables of its schema, every one within the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from onnxlint_cmsis.formats.flatbuffer import TABLE_COST, FlatFile, Table, root_of, table_at
from onnxlint_cmsis.formats.flatbuffer_schema import Field, Schema
from onnxlint_cmsis.formats.format import PTE, TFLITE, Format
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.formats.pte.fields import SCHEMA as PTE_SCHEMA
from onnxlint_cmsis.formats.tflite.schema import SCHEMA as TFLITE_SCHEMA
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

SCHEMAS = {TFLITE.mark: (TFLITE, TFLITE_SCHEMA), PTE.mark: (PTE, PTE_SCHEMA)}
MOST_MODELS = 256
"""Models of one run of bytes."""
MOST_MARKS = 4096
"""Marks that are looked at."""
MOST_TABLES = 300_000
"""Tables that are read in one run of bytes, those of what turns out to be no model too."""
HEADER_MARK = b"eh00"
"""Bytes 8 to 11 of a program whose weights stand behind its tables."""


class Embedded(NamedTuple):
    """A model within other bytes."""

    offset: int
    """First byte."""
    size: int
    """Bytes."""
    format: Format
    """Its format."""


def models_within(data: memoryview) -> Iterator[Embedded]:
    """The models in a run of bytes, in order, none within another."""
    pattern = re.compile(b"|".join(map(re.escape, SCHEMAS)))
    end = number = 0
    left = [MOST_TABLES]
    for count, mark in enumerate(pattern.finditer(data)):
        offset = mark.start() - 4
        if offset < end or number == MOST_MODELS or count >= MOST_MARKS:
            continue
        form, schema = SCHEMAS[mark[0]]
        try:
            size = _extent(schema, data[offset:], left)
        except ModelError:
            continue
        yield Embedded(offset, size, form)
        end, number = offset + size, number + 1


def _extent(schema: Schema, data: memoryview, left: list[int]) -> int:
    """Bytes of the file that begins the data; `left` are the tables that may be read. Raises ModelError."""
    root = root_of(schema, cast("Buffer", data))  # no text of it is read, which alone needs bytes
    if not all(root.has(name) for name in _needed(schema)):
        raise schema.damaged("it has no graph")
    walk = _Walk(root.file, left)
    walk.table(root)
    end = walk.end
    if schema is PTE_SCHEMA and bytes(data[8:12]) == HEADER_MARK:
        base = int(root.file.number("Q", 8, 24))
        for segment in root.tables("segments"):
            end = max(end, base + segment.number("offset") + segment.number("size"))
    for buffer in root.tables("buffers") if schema is TFLITE_SCHEMA else ():
        if buffer.number("offset") > 1:  # behind the tables, in files beyond 2 GB
            end = max(end, buffer.number("offset") + buffer.number("size"))
    if end > len(data):
        raise schema.damaged("it leads out of the bytes")
    return end


def _needed(schema: Schema) -> tuple[str, ...]:
    return ("subgraphs", "buffers") if schema is TFLITE_SCHEMA else ("execution_plan",)


class _Walk:
    """The last byte of everything that a table leads to."""

    def __init__(self, file: FlatFile, left: list[int]) -> None:
        self._file = file
        self._tables = left
        self._seen: set[int] = set()
        self._left: list[Table] = []
        self.end = 0
        """First byte behind all that was seen."""

    def table(self, root: Table) -> None:
        """Follow every field of a table and of those below it."""
        self._left.append(root)
        while self._left:
            table = self._left.pop()
            if table.span.offset in self._seen:
                continue
            self._seen.add(table.span.offset)
            self._file.spend(TABLE_COST)
            self._count(1)
            self._reach(table.span.offset + table.span.length)
            self._reach(table.vtable.offset + table.vtable.length)
            for name, field in table.fields.items():
                position = table.position(name)
                if position and field.type not in self._file.schema.scalars:
                    self._field(table, name, field, self._file.follow(position))

    def _field(self, table: Table, name: str, field: Field, target: int) -> None:
        schema = self._file.schema
        kind = field.type.strip("[]")
        if field.type == "string" or (field.type.startswith("[") and kind in schema.scalars):
            width = schema.scalars[kind][1] if kind in schema.scalars else 1
            first, count = self._file.vector(target, width)
            self._reach(first + count * width + (field.type == "string"))
        elif field.type.startswith("["):
            first, count = self._file.vector(target, 4)
            self._file.spend(TABLE_COST * count)
            self._count(count)
            self._reach(first + 4 * count)
            for index in range(count):
                inside = self._file.follow(first + 4 * index)
                if kind == "string":
                    start, length = self._file.vector(inside, 1)
                    self._reach(start + length + 1)
                else:
                    self._left.append(table_at(self._file, kind, inside))
        else:
            self._left.append(table_at(self._file, table.union(name) if field.type in schema.unions else kind, target))

    def _count(self, tables: int) -> None:
        self._tables[0] -= tables
        if self._tables[0] < 0:
            raise self._file.schema.damaged(f"more than {MOST_TABLES:,} tables were read")

    def _reach(self, end: int) -> None:
        self.end = max(self.end, end)
