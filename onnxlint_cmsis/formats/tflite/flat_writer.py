"""New tables and vectors of a flatbuffer, as bytes with the places of their offsets."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from onnxlint_cmsis.formats.tflite.schema import ENUMS, SCALARS, SCHEMA, UNIONS
from onnxlint_cmsis.ground.named_tuples import NamedTuple

ALIGNED = 16
"""Bytes that the data of buffers are aligned to; everything new is."""


class Address(int):
    """Where an object is: a byte of the old file, or a number beyond it for a new one."""


class Blob(NamedTuple):
    """One new table with its vtable, vector or string."""

    data: bytes
    """Bytes, offsets to other objects 0."""
    references: tuple[tuple[int, Address], ...] = ()
    """Byte of each offset, and what it leads to."""
    start: int = 0
    """Byte at which other objects find it: behind a table's vtable."""
    aligned: int = 0
    """Byte that has to lie at a multiple of `ALIGNED`: the first element of a vector."""


Options = tuple[str, Address]
"""What a union holds: the name of the table, and where that is."""


def table(kind: str, values: Mapping[str, float | bool | str | Address | Options]) -> Blob:
    """A table, by the schema's names: numbers, names of enumerations, addresses, and tables of unions."""
    entries = sorted(_entries(kind, values), key=lambda entry: -entry.width)
    length = 4 + 2 * (1 + max((entry.slot for entry in entries), default=-1))
    start = -(-length // 8) * 8
    vtable, body, references = bytearray(start), bytearray(4), []
    for entry in entries:
        body += bytes(-len(body) % entry.width)
        struct.pack_into("<H", vtable, 4 + 2 * entry.slot, len(body))
        if entry.address is not None:
            references.append((start + len(body), entry.address))
        body += struct.pack("<" + entry.letter, entry.number)
    struct.pack_into("<HH", vtable, 0, length, len(body))
    struct.pack_into("<i", body, 0, start)
    return Blob(bytes(vtable + body), tuple(references), start)


class _Entry(NamedTuple):
    slot: int
    letter: str
    width: int
    number: float
    address: Address | None = None


def _entries(kind: str, values: Mapping[str, float | bool | str | Address | Options]) -> list[_Entry]:
    entries = []
    for name, value in values.items():
        field = SCHEMA.fields(kind)[name]
        if isinstance(value, tuple):
            entries.append(_Entry(field.slot - 1, "B", 1, UNIONS[field.type].index(value[0])))
            entries.append(_Entry(field.slot, "I", 4, 0, value[1]))
        elif isinstance(value, Address):
            entries.append(_Entry(field.slot, "I", 4, 0, value))
        else:
            entries.append(_Entry(field.slot, *SCALARS[field.type], number(field.type, value)))
    return entries


def number(kind: str, value: float | bool | str) -> float:
    """The number of an enumeration's value, or the value itself."""
    return ENUMS[kind].index(value) if isinstance(value, str) else value


def packed(kind: str, value: float | bool | str) -> bytes:
    """Bytes of a number of a schema's type."""
    return struct.pack("<" + SCALARS[kind][0], number(kind, value))


def scalars(kind: str, values: Sequence[float] | bytes) -> Blob:
    """A vector of numbers of a schema's type, or of bytes."""
    letter, width = SCALARS[kind]
    data = values if isinstance(values, bytes) else struct.pack(f"<{len(values)}{letter}", *values)
    return Blob(struct.pack("<I", len(data) // width) + data, aligned=4)


def text(value: str) -> Blob:
    """A string."""
    raw = value.encode()
    return Blob(struct.pack("<I", len(raw)) + raw + b"\0")


def addresses(targets: Sequence[Address]) -> Blob:
    """A vector of offsets."""
    references = tuple((4 + 4 * index, target) for index, target in enumerate(targets))
    return Blob(struct.pack("<I", len(targets)) + bytes(4 * len(targets)), references)
