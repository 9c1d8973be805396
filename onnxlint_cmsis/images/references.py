"""Where code and data refer to functions: by a branch, by a word with the address, by two instructions that make it.

A call over a long way (-mlong-calls, a linker's veneer, code in RAM) loads the address from a word, or with MOVW and
MOVT where code may not be read (-mslow-flash-data, -mpure-code).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator

from onnxlint_cmsis.images.image import Section
from onnxlint_cmsis.images.thumb import branch_offset

THUMB = 1
"""Bit of an address that says that the code there is Thumb."""


class Spans:
    """Ranges of addresses, which may overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """`spans` are beginnings and sizes."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, size in sorted(spans):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], start + size)
            else:
                self._starts.append(start)
                self._ends.append(start + size)

    def hold(self, address: int) -> bool:
        """Tell whether an address lies in one of them."""
        index = bisect_right(self._starts, address)
        return index > 0 and address < self._ends[index - 1]


def references(section: Section, functions: Collection[int]) -> Iterator[tuple[int, int]]:
    """Address in a section that refers to one of some functions, and the address of the function."""
    skipped = -section.address % 4
    words = {(function | THUMB) & 0xFFFF_FFFF: function for function in functions}
    data = section.data[skipped : skipped + (len(section.data) - skipped) // 4 * 4]
    for index, (word,) in enumerate(struct.iter_unpack("<I", data)):
        if word in words:
            yield section.address + skipped + 4 * index, words[word]
    if section.executable:
        yield from ((address, target) for address, target in _instructions(section) if target in functions)


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
