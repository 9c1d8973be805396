"""What debugging information tells of each source file: its name, its compiler with options, sizes of structures.

DWARF 2 to 5 in its 32-bit form ("DWARF Debugging Information Format Version 5"). Every position is checked; what is
damaged or of another form ends the reading, and what was read until then counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image

MOST_UNITS = 20_000
MOST_ATTRIBUTES = 300_000
"""Descriptions of entries, and attributes in them, that are read."""
MOST_ENTRIES = 400_000
"""Entries that are read in search of a structure."""
LONGEST_TEXT = 4096
"""Bytes of a name or of the options of a compiler."""
UNIT_TAGS, STRUCTURE = (0x11, 0x3C), 0x13
NAME, BYTE_SIZE, SIBLING, PRODUCER, STRING_OFFSETS = 0x03, 0x0B, 0x01, 0x25, 0x72
WANTED = frozenset((NAME, BYTE_SIZE, SIBLING, PRODUCER, STRING_OFFSETS))
COMPILED, PARTIAL = 1, 3
"""Kinds of units of DWARF 5 that have no more in their header than others."""
SIZES = {
    **dict.fromkeys((0x19, 0x21), 0), **dict.fromkeys((0x0B, 0x0C, 0x11, 0x25, 0x29), 1),
    **dict.fromkeys((0x05, 0x12, 0x26, 0x2A), 2), **dict.fromkeys((0x27, 0x2B), 3),
    **dict.fromkeys((0x06, 0x0E, 0x13, 0x17, 0x1C, 0x1D, 0x1F, 0x28, 0x2C), 4),
    **dict.fromkeys((0x07, 0x14, 0x20, 0x24), 8), 0x1E: 16,
}  # fmt: skip
"""Bytes of forms that have always so many."""
ADDRESS, REFERENCE, STRING, IMPLICIT = 0x01, 0x10, 0x08, 0x21
NUMBERS = frozenset((0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23))
"""Forms of one number of 7 bits a byte."""
BLOCKS = {0x0A: 1, 0x03: 2, 0x04: 4, 0x09: 0, 0x18: 0}
"""Forms of bytes behind their count, with the bytes of the count; 0 for one of 7 bits a byte."""
TEXT_SECTIONS = {0x0E: ".debug_str", 0x1F: ".debug_line_str"}
INDEXED = frozenset((0x1A, 0x25, 0x26, 0x27, 0x28))


class SourceUnit(NamedTuple):
    """A source file that a compiler told of."""

    file: str
    """Its path as the compiler had it."""
    producer: str
    """The compiler; gcc writes its options too, but no -D."""


class _DamagedError(Exception):
    """Debugging information that goes no further."""


class _Entry(NamedTuple):
    """How entries of one number are built."""

    tag: int
    children: bool
    attributes: tuple[tuple[int, int, int], ...]
    """Attribute, form, and the value where the form has it here."""
    size: int | None
    """Bytes, where they are always so many and nothing in them is wanted."""


class _Reader:
    """Position in the units of an image."""

    def __init__(self, image: Image) -> None:
        self.data = bytes(image.named(".debug_info"))
        self._abbreviations = bytes(image.named(".debug_abbrev"))
        self._texts = {form: bytes(image.named(name)) for form, name in TEXT_SECTIONS.items()}
        self._offsets = bytes(image.named(".debug_str_offsets"))
        self._tables: dict[tuple[int, int], dict[int, _Entry]] = {}
        self.position = self.end = self._start = self._base = 0
        self._address = 4
        self._version, self._left = 0, MOST_ATTRIBUTES
        self.entries: dict[int, _Entry] = {}

    def units(self) -> Iterator[dict[int, int | str]]:
        """Values of the first entry of each unit; the position is then behind it, `end` behind the unit."""
        start = 0
        for _ in range(MOST_UNITS):
            if start + 12 > len(self.data):
                return
            self.position, self._start, self._base = start, start, 8
            self.end = len(self.data)
            length = self._number(4)
            if length >= 0xFFFF_FFF0 or start + 4 + length > len(self.data):
                return
            self.end = start = self.position + length
            self._version = self._number(2)
            kind = self._number(1) if self._version >= 5 else COMPILED
            if not 2 <= self._version <= 5 or kind not in (COMPILED, PARTIAL):
                continue
            first = self._number(1 if self._version >= 5 else 4)
            second = self._number(4 if self._version >= 5 else 1)
            table, self._address = (second, first) if self._version >= 5 else (first, second)
            self.entries = self._table(table)
            entry = self.entries.get(self.uleb())
            if entry and entry.tag in UNIT_TAGS:
                yield self.values(entry)

    def _table(self, start: int) -> dict[int, _Entry]:
        key = (start, self._address + 16 * self._version)
        if key not in self._tables:
            self._tables[key] = dict(self._abbreviated(start))
        return self._tables[key]

    def _abbreviated(self, position: int) -> Iterator[tuple[int, _Entry]]:
        data = self._abbreviations
        while True:
            code, position = _uleb(data, position)
            self._spend()
            if not code:
                return
            tag, position = _uleb(data, position)
            children, attributes, position = data[position : position + 1] == b"\1", [], position + 1
            while True:
                attribute, position = _uleb(data, position)
                form, position = _uleb(data, position)
                value = 0
                if form == IMPLICIT:
                    value, position = _uleb(data, position)
                if not attribute and not form:
                    break
                attributes.append((attribute, form, value))
                self._spend()
            sizes = [self._size(form) for _, form, _ in attributes]
            plain = tag != STRUCTURE and not any(attribute == SIBLING for attribute, _, _ in attributes)
            size = sum(filter(None, sizes)) if plain and None not in sizes else None
            yield code, _Entry(tag, children, tuple(attributes), size)

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _DamagedError

    def _size(self, form: int) -> int | None:
        if form == ADDRESS or (form == REFERENCE and self._version == 2):
            return self._address
        return 4 if form == REFERENCE else SIZES.get(form)

    def _number(self, count: int) -> int:
        if self.position + count > self.end:
            raise _DamagedError
        value = int.from_bytes(self.data[self.position : self.position + count], "little")
        self.position += count
        return value

    def uleb(self) -> int:
        """A number of 7 bits a byte at the position."""
        value, self.position = _uleb(self.data, self.position)
        return value

    def values(self, entry: _Entry) -> dict[int, int | str]:
        """Values that are wanted of the entry at the position, which is then behind it."""
        told: dict[int, int | str] = {}
        for attribute, form, implicit in entry.attributes:
            start = self.position
            value = implicit if form == IMPLICIT else self._value(form)
            if attribute == STRING_OFFSETS:
                self._base = value
            elif attribute in WANTED:
                told[attribute] = self._text(form, start, value) if attribute in (NAME, PRODUCER) else value
        return told

    def _text(self, form: int, start: int, value: int) -> str:
        if form in TEXT_SECTIONS:
            return _text(self._texts[form], value)
        if form not in INDEXED:
            return _text(self.data, start) if form == STRING else ""
        where = self._base + 4 * value
        return _text(self._texts[0x0E], int.from_bytes(self._offsets[where : where + 4], "little"))

    def _value(self, form: int) -> int:
        """The number that a form is; 0 for what is none."""
        size = self._size(form)
        if size is not None:
            return self._number(size)
        if form in NUMBERS:
            return self.uleb()
        if form in BLOCKS:
            length = self._number(BLOCKS[form]) if BLOCKS[form] else self.uleb()
        elif form == STRING:
            length = self.data.find(b"\0", self.position, self.end) + 1 - self.position
        else:
            raise _DamagedError
        if not 0 <= length <= self.end - self.position:
            raise _DamagedError
        self.position += length
        return 0

    def structures(self) -> Iterator[dict[int, int | str]]:
        """Values of each structure behind the position in its unit; none for an entry of another kind."""
        depth = 1
        while depth and self.position < self.end:
            code = self.uleb()
            if not code:
                depth -= 1
                continue
            entry = self.entries.get(code)
            if entry is None:
                raise _DamagedError
            if entry.size is not None:
                self.position, depth = self.position + entry.size, depth + entry.children
                yield {}
                continue
            values = self.values(entry)
            yield values if entry.tag == STRUCTURE else {}
            sibling = self._start + int(values.get(SIBLING, 0))
            if entry.children and sibling >= self.position:
                self.position = sibling
            else:
                depth += entry.children


def source_units(image: Image) -> tuple[SourceUnit, ...]:
    """The source files of an image; none without debugging information."""
    units: list[SourceUnit] = []
    try:
        for values in _Reader(image).units():
            units.append(SourceUnit(str(values.get(NAME, "")), str(values.get(PRODUCER, ""))))
    except _DamagedError:
        pass
    return tuple(units)


def structure_sizes(image: Image, structure: str) -> dict[str, int]:
    """Bytes of a structure of C by the source file that knows it."""
    sizes: dict[str, int] = {}
    reader, left = _Reader(image), MOST_ENTRIES
    try:
        for unit in reader.units():
            for values in reader.structures():
                left -= 1
                if values.get(NAME) == structure and values.get(BYTE_SIZE):
                    sizes[str(unit.get(NAME, ""))] = int(values[BYTE_SIZE])
                    break
            if left < 0:
                break
    except _DamagedError:
        pass
    return sizes


def _uleb(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 64:
        byte = data[position]
        position, value, shift = position + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, position
    raise _DamagedError


def _text(data: bytes, start: int) -> str:
    end = data.find(b"\0", start, start + LONGEST_TEXT)
    return data[start : end if end >= 0 else start + LONGEST_TEXT].decode("utf-8", "replace")
