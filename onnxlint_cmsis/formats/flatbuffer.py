"""The bytes of a file, and one table in them, its fields read by the schema's names."""

from __future__ import annotations

import struct

from onnxlint_cmsis.formats.flatbuffer_schema import Field, Schema
from onnxlint_cmsis.formats.onnx.opening import LFS_START, reject_other_files
from onnxlint_cmsis.formats.onnx.wire import Buffer
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.model.model_error import ModelError

OVERLAP = 4
"""How many times its own size a file may hold in tables and vectors: writers share some, a bomb shares thousands."""
TABLE_COST = 32
"""Bytes that each table counts; in a real file a table and the offset to it take at least a quarter of that."""


class Span(NamedTuple):
    """A run of bytes of the file."""

    offset: int
    """First byte."""
    length: int
    """Bytes."""


class FlatFile:
    """The bytes of a file, read with checks.

    Every method raises ModelError (`not-a-model`) where the file ends early or an offset leads out of it.
    """

    def __init__(self, data: Buffer, schema: Schema) -> None:
        self.data = data
        self.schema = schema
        self.size = len(data)
        self._budget = OVERLAP * self.size

    def number(self, letter: str, width: int, position: int) -> int | float:
        """One number of `struct` type `letter` and `width` bytes."""
        if not 0 <= position <= self.size - width:
            raise self.schema.damaged(
                f"a value of {width} bytes at byte {position} lies outside the {self.size} bytes of the file"
            )
        value: int | float = struct.unpack_from("<" + letter, self.data, position)[0]
        return value

    def follow(self, position: int) -> int:
        """Where the offset stored at `position` leads."""
        target = position + int(self.number("I", 4, position))
        if not position < target < self.size:
            raise self.schema.damaged(
                f"the offset at byte {position} leads to byte {target}, outside the {self.size} bytes of the file"
            )
        return target

    def vector(self, position: int, width: int) -> Span:
        """First element and count of the vector at `position`, whose elements have `width` bytes."""
        count = int(self.number("I", 4, position))
        if count * width > self.size - position - 4:
            raise self.schema.damaged(
                f"the vector at byte {position} claims {count} elements, more than the file holds"
            )
        return Span(position + 4, count)

    def spend(self, size: int) -> None:
        """Count bytes turned into Python values, so that vectors that overlap cannot fill the memory."""
        self._budget -= size
        if self._budget < 0:
            raise self.schema.damaged(
                f"its tables and vectors overlap: together they hold more than {OVERLAP} times the file"
            )


Value = int | float | bool | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
"""What a field of numbers, names or text holds."""


class Table(NamedTuple):
    """One table of the file, with the schema's name of what it is."""

    file: FlatFile
    """The file."""
    kind: str
    """Name in the schema."""
    span: Span
    """Bytes of the table itself."""
    vtable: Span
    """Bytes of its vtable."""

    @property
    def fields(self) -> dict[str, Field]:
        """Fields that the schema gives it, by name."""
        return self.file.schema.fields(self.kind)

    def value(self, name: str) -> Value:
        """A number, string or vector of numbers; enumerations by name, by number where unknown."""
        field = self.fields[name]
        position = self._position(field.slot)
        if field.type == "string":
            if not position:
                return ""
            first, count = self.file.vector(self.file.follow(position), 1)
            self.file.spend(count)
            return self.file.data[first : first + count].decode("utf-8", "replace")
        if field.type.startswith("["):
            return _scalars(self.file, position, field.type[1:-1])
        number = self.file.number(*self.file.schema.scalars[field.type], position) if position else field.default
        if field.type in ("float", "double"):
            return number
        if field.type == "bool":
            return bool(number)
        return _name(self.file.schema, field.type, int(number))

    def number(self, name: str) -> int:
        """A whole number; an enumeration's number, not its name."""
        field = self.fields[name]
        position = self._position(field.slot)
        return int(self.file.number(*self.file.schema.scalars[field.type], position) if position else field.default)

    def text(self, name: str) -> str:
        """A string or the name of an enumeration's value."""
        return str(self.value(name))

    def ints(self, name: str) -> tuple[int, ...]:
        """A vector of whole numbers; empty where there is none."""
        value = self.value(name)
        return tuple(int(v) for v in value) if isinstance(value, tuple) else ()

    def floats(self, name: str) -> tuple[float, ...]:
        """A vector of numbers; empty where there is none."""
        value = self.value(name)
        return tuple(float(v) for v in value) if isinstance(value, tuple) else ()

    def has(self, name: str) -> bool:
        """Tell whether the file gives the field."""
        return self.position(name) != 0

    def table(self, name: str) -> Table | None:
        """A table that the field refers to; None where there is none, or a union holds nothing known."""
        field = self.fields[name]
        position = self._position(field.slot)
        kind = self.union(name) if field.type in self.file.schema.unions else field.type
        return (
            table_at(self.file, kind, self.file.follow(position))
            if position and kind in self.file.schema.tables
            else None
        )

    def union(self, name: str) -> str:
        """Name of the table that a union holds, `NONE` for nothing, its number where unknown."""
        field = self.fields[name]
        position = self._position(field.slot - 1)
        number = int(self.file.number("B", 1, position)) if position else 0
        names = self.file.schema.unions[field.type]
        return names[number] if number < len(names) else str(number)

    def tables(self, name: str) -> tuple[Table, ...]:
        """Tables of a vector, in order."""
        field = self.fields[name]
        position = self._position(field.slot)
        if not position:
            return ()
        first, count = self.file.vector(self.file.follow(position), 4)
        self.file.spend(TABLE_COST * count)
        starts = (self.file.follow(first + 4 * index) for index in range(count))
        return tuple(table_at(self.file, field.type[1:-1], start) for start in starts)

    def bytes_of(self, name: str) -> Span:
        """Where the bytes of a vector lie; they are not read."""
        position = self.position(name)
        return self.file.vector(self.file.follow(position), 1) if position else Span(0, 0)

    def position(self, name: str) -> int:
        """Where a field's number or offset stands; 0 where the file leaves the field out."""
        return self._position(self.fields[name].slot)

    def slots(self) -> set[int]:
        """Positions in the vtable of the fields that the file gives, also of those without a name."""
        return {slot for slot in range((self.vtable.length - 4) // 2) if self._position(slot)}

    def _position(self, slot: int) -> int:
        """Where a field's value lies; 0 where the file leaves the field out."""
        entry = 4 + 2 * slot
        if entry + 2 > self.vtable.length:
            return 0
        offset = int(self.file.number("H", 2, self.vtable.offset + entry))
        return self.span.offset + offset if offset else 0


def root_of(schema: Schema, data: Buffer) -> Table:
    """The table that a file begins with. Raises ModelError for what is no such file."""
    head = bytes(data[:512])
    if head.startswith(LFS_START):
        reject_other_files(data)
    if not head:
        raise ModelError("not-a-model", f"not {schema.title}: the file is empty")
    if head[4:8] != schema.identifier:
        raise ModelError("not-a-model", f"not {schema.title}: bytes 4 to 7 are not '{schema.identifier.decode()}'")
    file = FlatFile(data, schema)
    return table_at(file, schema.root_type, file.follow(0))


def table_at(file: FlatFile, kind: str, position: int) -> Table:
    """The table that starts at `position`."""
    vtable = position - int(file.number("i", 4, position))
    length, size = int(file.number("H", 2, vtable)), int(file.number("H", 2, vtable + 2))
    if length < 4 or vtable + length > file.size or position + size > file.size:
        raise file.schema.damaged(f"the table at byte {position} ({kind}) has a description that leads out of the file")
    return Table(file, kind, Span(position, size), Span(vtable, length))


def _name(schema: Schema, kind: str, number: int) -> int | str:
    """A number, as a name where its type is an enumeration that has one."""
    names = schema.enums.get(kind)
    if names is None:
        return number
    return names[number] if 0 <= number < len(names) else f"{kind}({number})"


def _scalars(file: FlatFile, position: int, kind: str) -> tuple[int, ...] | tuple[float, ...] | tuple[str, ...]:
    if not position:
        return ()
    letter, width = file.schema.scalars[kind]
    first, count = file.vector(file.follow(position), width)
    file.spend(count * width)
    numbers: tuple[int, ...] = struct.unpack_from(f"<{count}{letter}", file.data, first)
    return tuple(str(_name(file.schema, kind, number)) for number in numbers) if kind in file.schema.enums else numbers
