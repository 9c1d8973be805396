"""Where code and data refer to functions: by a branch, by a word with the address, by two instructions that make it.

A call over a long way (-mlong-calls, a linker's veneer, code in RAM) loads the address from a word, or with MOVW and
MOVT where code may not be read (-mslow-flash-data, -mpure-code).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator

from onnxlint_cmsis.images.image import Section
from onnxlint_cmsis.images.thumb import branch_offset

THUMB = 1
"""Bit of an address that says that the code there is Thumb."""


def references(section: Section, functions: Collection[int]) -> Iterator[tuple[int, int]]:
    """Address in a section that refers to one of some functions, and the address of the function."""
    yield from _words(section, functions)
    if section.executable:
        yield from ((address, target) for address, target in _instructions(section) if target in functions)


def _words(section: Section, functions: Collection[int]) -> Iterator[tuple[int, int]]:
    content = bytes(section.data)
    for function in functions:
        word = struct.pack("<I", (function | THUMB) & 0xFFFF_FFFF)
        position = content.find(word)
        while position >= 0:
            if not (section.address + position) % len(word):
                yield section.address + position, function
            position = content.find(word, position + 1)


def _instructions(section: Section) -> Iterator[tuple[int, int]]:
    """Address and target of all that reads as BL, B.W or MOVT behind a MOVW of the same register, at any half-word."""
    data = section.data[: len(section.data) // 2 * 2]
    lower: dict[int, int] = {}
    before = 0
    for index, half in enumerate(struct.unpack(f"<{len(data) // 2}H", data)):
        address = section.address + 2 * index
        if before & 0xF800 == 0xF000 and half & 0x9000 == 0x9000:
            yield address - 2, address + 2 + branch_offset(before, half)
        elif before & 0xFB70 == 0xF240 and half < 0x8000:  # MOVW, MOVT
            immediate = (before & 0xF) << 12 | (before & 0x400) << 1 | (half & 0x7000) >> 4 | half & 0xFF
            register = half >> 8 & 0xF
            if before & 0x80:
                yield address - 2, (immediate << 16 | lower.get(register, 0)) & ~THUMB
            else:
                lower[register] = immediate
        before = half
