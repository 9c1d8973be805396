"""Write ELF files for 32-bit Arm, archives, Intel HEX and UF2 from names, sizes and counts of instructions."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NOP, RETURN = 0xBF00, 0x4770
SMLAD = (0xFB21, 0x0002)
SXTB16 = (0xFA2F, 0xF081)
MVE = (0xEF00, 0x0840)


class ElfSection(NamedTuple):
    """A section to write."""

    name: str
    address: int
    data: bytes
    flags: str = "r"
    """`r`, `w`, `x`; `-` for one that is not loaded."""
    size: int | None = None
    """Bytes where the file has none of them."""
    kind: int = 1
    """Type, 8 where the file has none of its bytes."""


class ElfSymbol(NamedTuple):
    """A symbol to write."""

    name: str
    address: int
    size: int
    kind: str = "func"
    local: bool = False


def elf(
    sections: Iterable[ElfSection], symbols: Iterable[ElfSymbol] = (), *, machine: int = 40, kind: int = 2
) -> bytes:
    """An ELF with sections and symbols; symbols go to the section that has their address."""
    written = list(sections)
    number = {row.name: index for index, row in enumerate(written, 1)}
    strings, table = bytearray(b"\0"), bytearray(16)
    for symbol in symbols:
        code = {"func": 2, "object": 1, "other": 0}[symbol.kind]
        home = next(
            (
                number[row.name]
                for row in written
                if "-" not in row.flags and row.address <= symbol.address < row.address + _size(row)
            ),
            0xFFF1,
        )
        value = symbol.address | (symbol.kind == "func" and kind == 2)
        table += struct.pack("<IIIBBH", len(strings), value, symbol.size, code | (not symbol.local) << 4, 0, home)
        strings += symbol.name.encode() + b"\0"
    if len(table) > 16:
        written += [ElfSection(".symtab", 0, bytes(table), "-", kind=2), ElfSection(".strtab", 0, bytes(strings), "-")]
    written.append(ElfSection(".shstrtab", 0, b"\0" + b"".join(row.name.encode() + b"\0" for row in written), "-"))
    names = written[-1].data
    body, headers = bytearray(52), bytearray(40)
    for row in written:
        body += bytes(-len(body) % 16)
        flags = ("w" in row.flags) | ("-" not in row.flags) << 1 | ("x" in row.flags) << 2
        link = len(written) - 1 if row.name == ".symtab" else 0
        start = names.find(b"\0" + row.name.encode() + b"\0") + 1
        headers += struct.pack(
            "<10I", max(start, 0), row.kind, flags, row.address, len(body), _size(row), link, 1, 16,
            16 if row.kind == 2 else 0,
        )  # fmt: skip
        body += row.data
    body += bytes(-len(body) % 16)
    head = struct.pack(
        "<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", kind, machine, 1, 0, 0, len(body), 0x5000200, 52, 0, 0, 40,
        len(written) + 1, len(written),
    )  # fmt: skip
    return head + bytes(body[52:]) + bytes(headers)


def _size(row: ElfSection) -> int:
    return len(row.data) if row.size is None else row.size


def attributes(values: Mapping[int, int | str]) -> bytes:
    """`.ARM.attributes` with numbers and texts."""
    body = b"".join(
        _uleb(tag) + (value.encode() + b"\0" if isinstance(value, str) else _uleb(value))
        for tag, value in values.items()
    )
    file = b"\x01" + struct.pack("<I", len(body) + 5) + body
    return b"A" + struct.pack("<I", len(file) + 10) + b"aeabi\0" + file


def _uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


@dataclass
class Function:
    """Code with so much of everything."""

    size: int = 64
    frame: int = 0
    smlad: int = 0
    dsp: int = 0
    """All instructions of DSP, SMLAD among them."""
    mve: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)


def code(function: Function, address: int, places: Mapping[str, int]) -> bytes:
    """Thumb code of a function at an address, which calls others where they are; what has no address is left out."""
    halves: list[int] = []
    left = function.frame // 4
    while left:
        halves.append(0xB080 | min(left, 127))
        left -= min(left, 127)
    halves += [*SMLAD] * function.smlad + [*SXTB16] * max(0, function.dsp - function.smlad) + [*MVE] * function.mve
    for name, count in function.calls.items():
        for _ in range(count if name in places else 0):
            halves += branch(places[name] - (address + 2 * len(halves) + 4))
    halves.append(RETURN)
    halves += [NOP] * (function.size // 2 - len(halves))
    return struct.pack(f"<{len(halves)}H", *halves)


def branch(offset: int) -> list[int]:
    """BL that goes so far."""
    sign = int(offset < 0)
    high, low = (offset >> 23 & 1) ^ sign ^ 1, (offset >> 22 & 1) ^ sign ^ 1
    first = 0xF000 | sign << 10 | (offset >> 12 & 0x3FF)
    return [first, 0xD000 | high << 13 | low << 11 | (offset >> 1 & 0x7FF)]


def placed(functions: Mapping[str, Function], start: int) -> tuple[bytes, dict[str, int]]:
    """Functions one behind the other from an address; their code and where each is."""
    lengths: dict[str, int] = {
        name: len(code(function, 0, dict.fromkeys(function.calls, 0))) for name, function in functions.items()
    }
    places, position = {}, start
    for name, length in lengths.items():
        places[name] = position
        position += length + length % 4
    text = bytearray()
    for name, function in functions.items():
        text += bytes(places[name] - start - len(text)) + code(function, places[name], places)
    return bytes(text), places


def archive(members: Mapping[str, bytes]) -> bytes:
    """An `ar` archive with GNU's long names."""
    names, table = bytearray(), {}
    for name in members:
        table[name] = f"/{len(names)}" if len(name) > 15 else f"{name}/"
        names += f"{name}/\n".encode()
    out = bytearray(b"!<arch>\n" + _member("//", bytes(names)))
    for name, data in members.items():
        out += _member(table[name], data)
    return bytes(out)


def _member(name: str, data: bytes) -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)


def intel_hex(address: int, data: bytes) -> bytes:
    """Intel HEX of bytes at an address."""
    lines, base = [], -1
    for start in range(0, len(data), 16):
        where = address + start
        if where >> 16 != base:
            base = where >> 16
            lines.append(_record(4, 0, base.to_bytes(2, "big")))
        lines.append(_record(0, where & 0xFFFF, data[start : start + 16]))
    return "\n".join([*lines, ":00000001FF", ""]).encode()


def _record(kind: int, address: int, data: bytes) -> str:
    fields = bytes([len(data)]) + address.to_bytes(2, "big") + bytes([kind]) + data
    return f":{fields.hex().upper()}{-sum(fields) & 255:02X}"


def uf2(address: int, data: bytes) -> bytes:
    """UF2 of bytes at an address."""
    blocks = [data[start : start + 256] for start in range(0, len(data), 256)]
    return b"".join(
        struct.pack("<8I", 0x0A324655, 0x9E5D5157, 0, address + 256 * number, len(block), number, len(blocks), 0)
        + block.ljust(476, b"\0")
        + struct.pack("<I", 0x0AB16F30)
        for number, block in enumerate(blocks)
    )
