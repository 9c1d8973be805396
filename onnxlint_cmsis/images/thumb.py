"""What Thumb code shows without a disassembler: its instructions by masks, calls, stack, and which extension it needs.

Encodings: Armv7-M and Armv8-M Architecture Reference Manuals (DDI 0403, DDI 0553).
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Mapping

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image, Symbol

LARGEST_FUNCTION = 2**20
"""Bytes of the largest function that is read."""
_SMLAD = re.compile(rb"[\x20-\x2f]\xfb[\x00-\x1f]")
"""The first three bytes of SMLAD and SMUAD."""
PROLOGUE = 40
"""Instructions at the beginning of a function among which it takes its stack."""


class Code(NamedTuple):
    """One function."""

    size: int
    """Bytes."""
    instructions: int
    """Instructions."""
    dsp: int
    """Instructions of the DSP extension that no compiler makes of plain C."""
    smlad: int
    """SMLAD and SMUAD, with x or not: two products in one instruction."""
    mve: int
    """Instructions of MVE."""
    frame: int
    """Bytes of stack that it takes for its variables, beside the registers that it saves."""
    calls: Mapping[str, int]
    """Calls by the name of what is called; a jump to another function is one."""


def code_of(image: Image, symbol: Symbol) -> Code:
    """Read a function's code; empty where the file has none."""
    section = image.sections[symbol.section] if symbol.section < len(image.sections) else None
    if section is None:
        return Code(0, 0, 0, 0, 0, 0, {})
    start = symbol.address - section.address if image.linked else symbol.address
    size = min(symbol.size, LARGEST_FUNCTION)
    if not 0 <= start <= start + size <= len(section.data):
        return Code(0, 0, 0, 0, 0, 0, {})
    halves = struct.unpack_from(f"<{size // 2}H", section.data, start)
    unlinked = {} if image.linked else image.calls.get(symbol.section, {})
    counter, data, index = _Counter(symbol.address, image.at, unlinked), _data_ranges(image, symbol), 0
    while index < len(halves):
        if data and index >= data[0][0]:
            index = max(index, data.pop(0)[1])
        elif halves[index] < 0xE800 or index + 1 == len(halves):
            counter.short(halves[index], index)
            index += 1
        else:
            counter.long(halves[index], halves[index + 1], index)
            index += 2
    return Code(size, counter.instructions, counter.dsp, counter.smlad, counter.mve, counter.frame, counter.calls)


def smlad_in(data: memoryview) -> int:
    """Places that read as SMLAD or SMUAD in code without symbols; data has one in some 64 KiB."""
    return sum(match.start() % 2 == 0 for match in _SMLAD.finditer(data))


def _data_ranges(image: Image, symbol: Symbol) -> list[tuple[int, int]]:
    """Runs of data within a function, first and last half-word from its beginning."""
    inside = image.marks_in(symbol)
    ranges, begin = [], -1
    for address, is_data in inside:
        index = (address - symbol.address) // 2
        if is_data and begin < 0:
            begin = index
        elif not is_data and begin >= 0:
            ranges.append((begin, index))
            begin = -1
    if begin >= 0:
        ranges.append((begin, symbol.size // 2))
    return ranges


class _Counter:
    """Counts of one function, instruction by instruction."""

    def __init__(self, address: int, names: Mapping[int, tuple[str, ...]], unlinked: Mapping[int, str]) -> None:
        """`names` are those of functions by address, `unlinked` what calls lead to that the linker has yet to fill."""
        self._names, self._unlinked = names, unlinked
        self._own = names.get(address, ())
        self._address = address
        self.instructions = self.dsp = self.smlad = self.mve = self.frame = 0
        self.calls: Counter[str] = Counter()

    def short(self, half: int, here: int) -> None:
        """Count an instruction of two bytes, `here` half-words from the beginning."""
        self.instructions += 1
        if half & 0xFF80 == 0xB080 and self.instructions <= PROLOGUE:
            self.frame += (half & 127) * 4
        elif half & 0xF800 == 0xE000:
            self._branch(here, 2 * (((half & 0x7FF) ^ 0x400) - 0x400))

    def long(self, first: int, second: int, here: int) -> None:
        """Count an instruction of four bytes."""
        self.instructions += 1
        if first & 0xEF00 == 0xEF00 or (first & 0xEC00 == 0xEC00 and second & 0x0E00 == 0x0E00):
            self.mve += 1
        elif first & 0xF800 == 0xF000:
            if second & 0x9000 == 0x9000:
                self._branch(here, branch_offset(first, second))
            elif self.instructions <= PROLOGUE:
                self.frame += _taken(first, second)
        elif first & 0xFFF0 == 0xFB20 and second & 0x00E0 == 0:
            self.dsp, self.smlad = self.dsp + 1, self.smlad + 1
        else:
            self.dsp += _is_dsp(first, second)

    def _branch(self, here: int, offset: int) -> None:
        """Count a branch that leads to the beginning of another function."""
        address = self._address + 2 * here
        if address in self._unlinked:
            self.calls[self._unlinked[address]] += 1
            return
        named = self._names.get((address + 4 + offset) & 0xFFFF_FFFE, ())
        if named and named != self._own:
            self.calls[called(named)] += 1


def called(names: tuple[str, ...]) -> str:
    """The name that stands for all at one address: the library's own, without a linker's veneer around it."""
    plain = [name[2:-7] if name.startswith("__") and name.endswith("_veneer") else name for name in names]
    return min(plain, key=lambda name: (not name.startswith(("arm_", "mem")), len(name), name))


def branch_offset(first: int, second: int) -> int:
    """Bytes that BL and B.W go (encodings T1 and T4)."""
    sign = first >> 10 & 1
    high, low = ~(second >> 13 ^ sign) & 1, ~(second >> 11 ^ sign) & 1
    offset = sign << 24 | high << 23 | low << 22 | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    return offset - (sign << 25)


def _taken(first: int, second: int) -> int:
    """Bytes that SUB (SP minus immediate) takes, encodings T2 and T3; 0 for other instructions."""
    if second & 0x8F00 != 0x0D00:
        return 0
    immediate = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 255
    if first & 0xFBFF == 0xF2AD:
        return immediate
    if first & 0xFBEF != 0xF1AD:
        return 0
    if immediate >> 10:
        turn, byte = immediate >> 7, 128 | immediate & 127
        return (byte >> turn | byte << (32 - turn)) & 0xFFFF_FFFF
    byte = immediate & 255
    return (byte, byte | byte << 16, byte << 8 | byte << 24, byte * 0x01010101)[immediate >> 8 & 3]


def _is_dsp(first: int, second: int) -> bool:
    """SXTB16, SXTAB16 and parallel additions; gcc makes SMLABB and clang PKHBT, SMLALD and SMLAD of plain C."""
    return (first & 0xFFF0 == 0xFA20 and second & 0xF0C0 == 0xF080) or (
        first & 0xFF80 == 0xFA80 and second & 0xF080 == 0xF000
    )
