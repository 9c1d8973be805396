"""Reader of ELF for 32-bit Arm, little-endian: sections, symbols, and calls that are not linked yet.

ELF: "Tool Interface Standard, Executable and Linking Format 1.2"; for Arm "ELF for the Arm Architecture" (ARM IHI
0044). Every position and count is checked before it is used.
"""

from __future__ import annotations

import struct

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image, ImageError, Section, Symbol
from onnxlint_cmsis.images.references import Spans

MAGIC = b"\x7fELF"
ARM = 40
MACHINES = {3: "x86", 94: "Xtensa", 243: "RISC-V"}
"""Names of other machines whose ELFs have 32 bits, as the ELF numbers them."""
RELOCATABLE = 1
MOST_SECTIONS = 65_536
MOST_SYMBOLS = 1_000_000
"""Symbols that are read."""
LONGEST_NAME = 4096
"""Bytes of a name that are read."""
MOST_NAMED = 2**26
"""Bytes that all names have together: tables of strings that overlap hold more than the file."""
LOAD = 1
"""Kind of a segment that is in memory (PT_LOAD)."""
SYMTAB, NOBITS, REL, INIT_ARRAY, FINI_ARRAY, PREINIT_ARRAY = 2, 8, 9, 14, 15, 16
WRITE, ALLOC, EXECUTE = 1, 2, 4
SRAM = 0x2000_0000
"""First address of SRAM (Armv7-M Architecture Reference Manual, B3.1). Linkers call code before it writable where its
vector table is."""
KINDS = {0: "other", 1: "object", 2: "func"}
THUMB_CALL, THUMB_JUMP = 10, 30
"""R_ARM_THM_CALL and R_ARM_THM_JUMP24."""


class _Header(NamedTuple):
    """A section header as it stands in the file."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    entry: int


def read_elf(data: memoryview) -> Image:
    """Read an ELF. Raises ImageError for what is none, is none for 32-bit Arm, or is damaged."""
    if bytes(data[:4]) != MAGIC:
        raise ImageError("it is no ELF")
    if len(data) < 52:
        raise ImageError(f"it ends after {len(data)} bytes, within the header of an ELF")
    if data[4] != 1 or data[5] != 1:
        raise ImageError("it is an ELF for 64 bits or of the other byte order; allowed is a 32-bit little-endian one")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if machine != ARM:
        raise ImageError(f"it is an ELF for {MACHINES.get(machine, f'machine {machine}')}; allowed is one for Arm")
    headers = _headers(data)
    names, copied = _strings(data, headers, struct.unpack_from("<H", data, 50)[0], headers), _copied(data)
    sections = tuple(
        Section(
            _name(names, header.name),
            header.address,
            header.size,
            _content(data, header),
            loaded=bool(header.flags & ALLOC),
            writable=bool(header.flags & WRITE)
            and not (header.flags & EXECUTE and header.address < SRAM and not copied.hold(header.address)),
            executable=bool(header.flags & EXECUTE),
            array=header.kind in (INIT_ARRAY, FINI_ARRAY, PREINIT_ARRAY),
        )
        for header in headers
    )
    table = next((header for header in headers if header.kind == SYMTAB), None)
    every = _symbols(data, headers, table) if table else []
    linked = kind != RELOCATABLE
    symbols = tuple(symbol for symbol in every if symbol.section and symbol.kind and symbol.name[:1] not in ("$", ""))
    marks = tuple(symbol for symbol in every if symbol.section and symbol.name[:2] in ("$t", "$d"))
    calls = {} if linked else _calls(data, headers, every)
    return Image("elf", sections, symbols, linked=linked, marks=marks, calls=calls)


def _headers(data: memoryview) -> list[_Header]:
    (start,) = struct.unpack_from("<I", data, 32)
    size, count = struct.unpack_from("<HH", data, 46)
    if not count:
        return []
    if size != 40 or start + count * size > len(data):
        raise ImageError(f"its {count} section headers at byte {start} lie outside its {len(data)} bytes")
    rows = struct.iter_unpack("<8I4xI", data[start : start + count * 40])
    return [_Header._make(fields) for fields in rows]


def _copied(data: memoryview) -> Spans:
    """Addresses whose content is loaded elsewhere and is copied there at start: RAM, with functions among data too."""
    (start,) = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<HH", data, 42)
    rows = data[start : start + count * 32]
    segments = struct.iter_unpack("<8I", rows[: len(rows) // 32 * 32] if size == 32 else b"")
    return Spans(
        (address, taken) for kind, _, address, stored, _, taken, _, _ in segments if kind == LOAD and address != stored
    )


def _content(data: memoryview, header: _Header) -> memoryview:
    """Bytes of a section. Raises ImageError where they lie outside of the file."""
    if header.kind in (NOBITS, 0):
        return data[:0]
    if header.offset + header.size > len(data):
        raise ImageError(f"a section of {header.size} bytes at byte {header.offset} lies outside its {len(data)} bytes")
    return data[header.offset : header.offset + header.size]


def _strings(data: memoryview, headers: list[_Header], number: int, every: list[_Header]) -> bytes:
    return bytes(_content(data, headers[number])) if number < len(every) else b""


def _name(strings: bytes, start: int) -> str:
    """A name of a table of strings; empty where there is none."""
    end = strings.find(b"\0", start, start + LONGEST_NAME)
    return strings[start : end if end >= 0 else start + LONGEST_NAME].decode("utf-8", "replace")


def _symbols(data: memoryview, headers: list[_Header], table: _Header) -> list[Symbol]:
    """All symbols by number; `kind` is empty for sections, files and what a debugger alone wants."""
    content = _content(data, table)
    if len(content) // 16 > MOST_SYMBOLS:
        raise ImageError(f"it has {len(content) // 16:,} symbols; allowed are {MOST_SYMBOLS:,}")
    strings = _strings(data, headers, table.link, headers)
    symbols, named = [], 0
    for start, value, size, info, _, section in struct.iter_unpack("<IIIBBH", content[: len(content) // 16 * 16]):
        name = _name(strings, start)
        named += len(name)
        if named > MOST_NAMED:
            raise ImageError(f"the names of its symbols have more than {MOST_NAMED:,} bytes")
        kind = KINDS.get(info & 15, "")
        address = value & ~1 if kind == "func" else value
        symbols.append(Symbol(name, address, size, kind, 0 if section >= 0xFF00 else section, info >> 4 == 0))
    return symbols


def _calls(data: memoryview, headers: list[_Header], symbols: list[Symbol]) -> dict[int, dict[int, str]]:
    """Names that each section's code calls, by the where of the call."""
    calls: dict[int, dict[int, str]] = {}
    left = MOST_SYMBOLS
    for header in headers:
        if header.kind != REL:
            continue
        content = _content(data, header)
        left -= len(content) // 8
        if left < 0:
            raise ImageError(f"it has more than {MOST_SYMBOLS:,} relocations")
        here = calls.setdefault(header.info, {})
        for where, info in struct.iter_unpack("<II", content[: len(content) // 8 * 8]):
            number = info >> 8
            if info & 255 in (THUMB_CALL, THUMB_JUMP) and number < len(symbols):
                here[where] = symbols[number].name
    return calls
