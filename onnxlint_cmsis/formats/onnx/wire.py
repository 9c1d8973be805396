"""Protobuf's wire format, read without decoding: varints, fields, byte ranges, weights left out."""

from __future__ import annotations

import mmap
from collections.abc import Iterator

Buffer = bytes | mmap.mmap
"""The file, mapped or in memory; only the bytes that are looked at are ever touched."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(Exception):
    """Bytes that are no protobuf message."""

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(f"{problem} at byte {offset}")


def varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Value of a base-128 integer and the position after it."""
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise WireError(position, "a number of more than ten bytes")


def varints(buffer: Buffer, position: int, end: int) -> list[int]:
    """Every number in `position:end` as a signed 64-bit one."""
    numbers: list[int] = []
    while position < end:
        value, position = varint(buffer, position)
        numbers.append((value & 0xFFFFFFFFFFFFFFFF ^ 1 << 63) - (1 << 63))
    return numbers


def encode_varint(value: int) -> bytes:
    """A number in base 128."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length_delimited(tag: int, body: bytes) -> bytes:
    """A field of wire type 2 with the given tag (`field << 3 | 2`)."""
    return encode_varint(tag) + encode_varint(len(body)) + body


def fields(buffer: Buffer, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Every field of the message in `start:end`: tag, where the field starts, where its value starts and ends.

    The value of a length-delimited field starts after its length. Values are not touched.

    Raises WireError where the message is cut short or is no message, IndexError where the buffer itself ends.
    """
    position = start
    while position < end:
        field_start = position
        tag = buffer[position]
        position += 1
        if tag > 0x7F:
            tag, position = varint(buffer, field_start)
        kind = tag & 7
        if kind == BYTES:
            length = buffer[position]
            position += 1
            if length > 0x7F:
                length, position = varint(buffer, position - 1)
            stop = position + length
        else:
            stop = _after_scalar(buffer, position, kind)
        if stop > end or tag < 8:
            raise _broken(buffer, (field_start, stop), end)
        yield tag, field_start, position, stop
        position = stop


def _broken(buffer: Buffer, field: tuple[int, int], end: int) -> WireError:
    """Problem of a field that is cut short, too long for its message, or has no number."""
    start, stop = field
    if stop <= end:
        return WireError(start, "a field without number")
    if end == len(buffer):
        return WireError(start, f"the file is truncated: it has {end} bytes and lacks {stop - end} of the field")
    return WireError(start, "a field longer than its message")


def _after_scalar(buffer: Buffer, position: int, kind: int) -> int:
    """Position after a number of the given wire type."""
    if kind == VARINT:
        return varint(buffer, position)[1]
    if kind == FIXED64:
        return position + 8
    if kind == FIXED32:
        return position + 4
    raise WireError(position, f"wire type {kind}, which ONNX does not use,")
