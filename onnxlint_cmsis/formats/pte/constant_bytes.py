"""Where the values of constants lie: in the flatbuffer, or behind it in a segment."""

from __future__ import annotations

from functools import cached_property

from onnxlint_cmsis.formats.flatbuffer import Span, Table
from onnxlint_cmsis.formats.pte.fields import SCHEMA

HEADER = b"eh00"


HEADER_AT = 8
"""First byte of the extended header, behind the identifier (schema/extended_header.h)."""


HEADER_BYTES = 24
"""Least length of it: magic, length, size of the program, where the segments begin (schema/extended_header.cpp)."""


class ConstantBytes:
    """Places of the values of constants."""

    def __init__(self, root: Table) -> None:
        self._root, self._file = root, root.file
        self._inline = [buffer.bytes_of("storage") for buffer in root.tables("constant_buffer")]
        self._table = root.table("constant_segment")
        self._offsets = self._table.ints("offsets") if self._table else ()

    @cached_property
    def _segment(self) -> Span:
        number, segments = self._table.number("segment_index") if self._table else 0, self._root.tables("segments")
        SCHEMA.check_indices("the constants", "segment", (number,), len(segments))
        size, file = segments[number].number("size"), self._file
        start = segments[number].number("offset") + self._base()
        if start + size > file.size:
            raise SCHEMA.damaged(f"segment {number} has {size} bytes at byte {start}, outside the file's {file.size}")
        return Span(start, size)

    def _base(self) -> int:
        file = self._file
        if bytes(file.data[HEADER_AT : HEADER_AT + 4]) != HEADER:
            raise SCHEMA.damaged("its constants lie in a segment, and it has no extended header that says where")
        if (length := int(file.number("I", 4, HEADER_AT + 4))) < HEADER_BYTES:
            raise SCHEMA.damaged(f"its extended header has {length} bytes; at least {HEADER_BYTES} are allowed")
        return int(file.number("Q", 8, HEADER_AT + 16))

    def span(self, number: int, size: int, where: str) -> Span:
        """Where a constant of `size` bytes lies."""
        stored = self._offsets or self._inline
        SCHEMA.check_indices(where, "constant", (number,), len(stored))
        if not self._offsets:
            span = self._inline[number]
            room = span.length
        else:
            offset = self._offsets[number]
            span, room = Span(self._segment.offset + offset, size), self._segment.length - offset
        if size > room:
            raise SCHEMA.damaged(f"{where} has {size} bytes, and constant {number} has room for {max(room, 0)}")
        return Span(span.offset, size)
