"""Damage to the structure of an image or a library: headers, sections, symbols, members, records of HEX, UF2 blocks."""

from __future__ import annotations

import random
import struct

from onnxlint_cmsis.images.archive import MAGIC as ARCHIVE
from onnxlint_cmsis.images.elf import MAGIC as ELF

HEADER, SECTION, SYMBOL = 52, 40, 16
"""Bytes of a header, a section header and a symbol of ELF32."""
SYMTAB = 2
"""Type of a section of symbols."""
MEMBER, MEMBER_END, SIZE_AT, SIZE = 60, b"`\n", 48, 10
"""Bytes of a member's header, its end, and where its size stands in it."""
WORDS = (0, 1, 2, 3, 4, 39, 40, 52, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFF0, 0xFFFF_FFFF)
SIZES = (b"0", b"1", b"-1", b"59", b"9999999999", b"x", b"")
LAST_SYMBOLS = 64
"""Symbols of a table that are damaged, from its beginning."""


UF2 = b"UF2\n"
UF2_BLOCK = 512
UF2_WORDS = (0, 4, 8, 12, 16, 20, 24, 28, 508)
"""Where the words of a block of UF2 stand: marks, flags, address, size, number, count, family, mark."""
KINDS = (0, 1, 2, 3, 4, 5, 6, 255)
"""Types of records of Intel HEX, and two that are none."""


def is_built(data: bytes) -> bool:
    """Tell whether a file is an ELF, a library, Intel HEX or UF2."""
    return data.startswith((ELF, ARCHIVE, UF2, b":"))


def damage_image(data: bytes, chance: random.Random, times: int) -> bytes:
    """The image with some words of its structure, or sizes of its members, replaced by extreme ones."""
    if data.startswith(b":"):
        return _damage_hex(data, chance, times)
    damaged = bytearray(data)
    if data.startswith(UF2):
        for _ in range(times):
            at = chance.randrange(0, len(data), UF2_BLOCK) + chance.choice(UF2_WORDS)
            damaged[at : at + 4] = struct.pack("<I", chance.choice(WORDS))
        return bytes(damaged)
    words = [word for start in _starts(data, ELF) for word in _words(data, start)]
    sizes = [end + 2 - MEMBER + SIZE_AT for end in _starts(data, MEMBER_END)] if data.startswith(ARCHIVE) else []
    for _ in range(times):
        if sizes and (not words or chance.random() < 0.3):
            at = chance.choice(sizes)
            damaged[at : at + SIZE] = chance.choice(SIZES).ljust(SIZE)
        elif words:
            struct.pack_into("<I", damaged, chance.choice(words), chance.choice(WORDS))
    return bytes(damaged)


def _damage_hex(data: bytes, chance: random.Random, times: int) -> bytes:
    """The records with other addresses, types or lengths, and sums that fit, or in another order."""
    lines = data.split(b"\n")
    for _ in range(times):
        at = chance.randrange(len(lines))
        fields = bytearray.fromhex(lines[at].strip()[1:].decode("ascii", "ignore"))[:-1]
        if len(fields) < 4 or chance.random() < 0.2:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
            continue
        change = chance.randrange(3)
        if change == 0:
            fields[1:3] = struct.pack(">H", chance.choice(WORDS) & 0xFFFF)
        elif change == 1:
            fields[3] = chance.choice(KINDS)
        else:
            del fields[4 + chance.randrange(len(fields) - 3) :]
            fields[0] = len(fields) - 4
        lines[at] = b":" + bytes([*fields, -sum(fields) & 255]).hex().upper().encode()
    return b"\n".join(lines)


def _starts(data: bytes, mark: bytes) -> list[int]:
    starts, at = [], data.find(mark)
    while at >= 0:
        starts.append(at)
        at = data.find(mark, at + 1)
    return starts


def _words(data: bytes, start: int) -> list[int]:
    """Where the words of a header, of section headers and of symbols are, of the ELF at a position."""
    if start + HEADER > len(data):
        return []
    table = start + struct.unpack_from("<I", data, start + 32)[0]
    (count,) = struct.unpack_from("<H", data, start + 48)
    headers = [table + SECTION * number for number in range(count) if table + SECTION * (number + 1) <= len(data)]
    places = [start + at for at in range(16, HEADER, 4)]
    places += [header + at for header in headers for at in range(0, SECTION, 4)]
    for header in headers:
        kind, _, _, offset, size = struct.unpack_from("<5I", data, header + 4)
        if kind == SYMTAB:
            end = min(start + offset + min(size, SYMBOL * LAST_SYMBOLS), len(data) - 3)
            places += range(start + offset, end, 4)
    return places
