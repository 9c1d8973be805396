"""A firmware image as every format gives it: bytes with their addresses, symbols, the marks of its tools."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property

from onnxlint_cmsis.ground.named_tuples import NamedTuple

LARGEST = 2**28
"""Bytes of the largest image that is read."""


class ImageError(Exception):
    """An image that cannot be read; the message is a clause that says why."""


class Section(NamedTuple):
    """A run of bytes of the image."""

    name: str
    """Name in an ELF; made up elsewhere."""
    address: int
    """Where it lies when the firmware runs."""
    size: int
    """Bytes that it takes there."""
    data: memoryview
    """Its bytes; empty where the file has none, as for `.bss`."""
    loaded: bool = True
    """Whether it is on the device, as debugging information is not."""
    writable: bool = False
    """Whether the firmware writes to it."""
    executable: bool = False
    """Whether it has code."""
    array: bool = False
    """Whether it is a table of constructors, which is called writable and stays in flash."""

    def holds(self, address: int) -> bool:
        """Tell whether an address is in it."""
        return self.loaded and self.address <= address < self.address + self.size


class Symbol(NamedTuple):
    """A name for an address."""

    name: str
    """Name; C++'s are mangled."""
    address: int
    """Address, without the bit that tells Thumb code."""
    size: int
    """Bytes; 0 where nothing says."""
    kind: str
    """`func`, `object` or `other`."""
    section: int
    """Number of its section among the sections of the ELF."""
    local: bool = False
    """Whether other files cannot see it."""


class Image:
    """One firmware image, or one member of a library."""

    def __init__(  # noqa: PLR0913
        self,
        form: str,
        sections: tuple[Section, ...],
        symbols: tuple[Symbol, ...] = (),
        *,
        linked: bool = True,
        addressed: bool = True,
        marks: tuple[Symbol, ...] = (),
        calls: Mapping[int, Mapping[int, str]] | None = None,
    ) -> None:
        """`marks` are the symbols $t and $d, which tell code from data; `calls` by the number of a section."""
        self.form = form
        """`elf`, `hex`, `uf2` or `bin`."""
        self.sections = sections
        """Sections, in the order of the file."""
        self.symbols = symbols
        """Symbols of functions, of data and of what has no type."""
        self.linked = linked
        """Whether addresses are those on the device."""
        self.addressed = addressed
        """Whether the file says where its bytes lie."""
        self.marks = marks
        self.calls = calls or {}

    def named(self, name: str) -> memoryview:
        """The bytes of the first section of a name; empty where there is none."""
        return next((section.data for section in self.sections if section.name == name), memoryview(b""))

    def section_at(self, address: int) -> Section | None:
        """The section that an address is in."""
        return next((section for section in self.sections if section.holds(address)), None)

    @cached_property
    def functions(self) -> dict[str, Symbol]:
        """Functions by name."""
        return {symbol.name: symbol for symbol in self.symbols if symbol.kind == "func"}

    @cached_property
    def _marked(self) -> dict[int, list[tuple[int, bool]]]:
        """Where code and data begin in each section, in order; True for data."""
        marked: dict[int, list[tuple[int, bool]]] = {}
        for mark in self.marks:
            marked.setdefault(mark.section, []).append((mark.address & ~1, mark.name.startswith("$d")))
        return {section: sorted(marks) for section, marks in marked.items()}

    def marks_in(self, symbol: Symbol) -> list[tuple[int, bool]]:
        """Where code and data begin within a symbol."""
        marks = self._marked.get(symbol.section, [])
        begin = bisect_left(marks, (symbol.address, False))
        return marks[begin : bisect_left(marks, (symbol.address + symbol.size, False))]

    @cached_property
    def registrations(self) -> tuple[tuple[int, int], ...]:
        """Address and size of the functions that make a registration of TensorFlow Lite Micro."""
        makers = (symbol for name, symbol in self.functions.items() if "Register_" in name)
        return tuple((symbol.address, symbol.size) for symbol in makers)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of all symbols."""
        return frozenset(symbol.name for symbol in self.symbols)

    @cached_property
    def at(self) -> dict[int, tuple[str, ...]]:
        """Names of the functions at each address; empty for a file that is not linked."""
        named: dict[int, tuple[str, ...]] = {}
        for name, symbol in self.functions.items() if self.linked else ():
            named[symbol.address] = (*named.get(symbol.address, ()), name)
        return named
