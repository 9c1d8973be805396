"""Write debugging information (DWARF 4): source files, what compiled each, and sizes of its structures."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from support.elf_writer import ElfSection

ABBREVIATIONS = bytes([1, 0x11, 1, 0x25, 8, 3, 8, 0, 0, 2, 0x13, 0, 3, 8, 0x0B, 0x0B, 0, 0, 0])
"""A unit with producer and name, and a structure with name and bytes."""


class Source(NamedTuple):
    """A source file to write."""

    file: str
    producer: str
    structures: Mapping[str, int] = {}
    """Bytes by name."""


def debugging(sources: Iterable[Source]) -> list[ElfSection]:
    """The sections that tell of source files."""
    units = bytearray()
    for source in sources:
        body = b"\1" + source.producer.encode() + b"\0" + source.file.encode() + b"\0"
        body += b"".join(b"\2" + name.encode() + bytes([0, size]) for name, size in source.structures.items()) + b"\0"
        head = struct.pack("<HIB", 4, 0, 4)
        units += struct.pack("<I", len(head) + len(body)) + head + body
    return [ElfSection(".debug_info", 0, bytes(units), "-"), ElfSection(".debug_abbrev", 0, ABBREVIATIONS, "-")]
