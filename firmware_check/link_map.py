"""Section sizes per object, from the linker map."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.emit import HERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from firmware_check.boards import Region
    from firmware_check.build import Bench, Image


OWNERS = ("constants", "arena", "calls", "CMSIS-NN", "reference code", "harness", "C library", "alignment")
"""Owners of memory in the order in which they are shown."""


_PLAIN = "reference"
"""Stem of the source with the reference code."""


_HEAD = "Linker script and memory map"


_PART = re.compile(r"^ (\.\S+|COMMON)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$", re.MULTILINE)


_LONG_NAME = re.compile(r"^( \.\S+)\n", re.MULTILINE)


_NOT_LOADED = (".debug", ".comment", ".ARM.attributes", ".note")
"""Beginnings of the names of sections that stay in the file."""


_OBJECT = re.compile(r"([^/]+?)-[0-9a-f]{24}\.o$")


class Part(NamedTuple):
    """One section of one object in an image."""

    section: str
    """Name in the object."""
    address: int
    """First byte."""
    size: int
    """Bytes of the section."""
    source: str
    """Stem of the source, empty for an object out of an archive."""


def owners(image: Image, bench: Bench, constants: int) -> tuple[dict[str, int], dict[str, int]]:
    """Bytes of flash and of RAM by owner. `constants` are so many bytes of the generated file's in flash."""
    parts = list(parts_of(image.path.with_suffix(".map")))
    library = {path.stem for path in bench.library.texts}
    flash = _by_owner(parts, library, bench.board.flash)
    ram = _by_owner(parts, library, bench.board.ram)
    for part in parts:
        if part.section.startswith(".data"):  # begins as a copy in flash
            flash[_owner(part, library)] += part.size
    flash["constants"] += constants
    flash["calls"] -= constants
    return _complete(flash, image.sizes.flash), _complete(ram, image.sizes.ram)


def parts_of(path: Path) -> Iterator[Part]:
    """The sections that a map lists; long names have their numbers on the next line."""
    text = path.read_text(encoding="utf-8", errors="replace").partition(_HEAD)[2]
    for section, address, size, file in _PART.findall(_LONG_NAME.sub(r"\1", text)):
        own = _OBJECT.search(file)
        if int(size, 16) and not section.startswith(_NOT_LOADED):
            yield Part(section, int(address, 16), int(size, 16), own[1] if own else "")


def _by_owner(parts: Iterable[Part], library: set[str], region: Region) -> Counter[str]:
    owners: Counter[str] = Counter()
    for part in parts:
        if region.origin <= part.address < region.origin + region.size:
            owners[_owner(part, library)] += part.size
    return owners


def _owner(part: Part, library: set[str]) -> str:
    if part.section == ".bss.arena":
        return "arena"
    if part.source in library:
        return "CMSIS-NN"
    if part.source == _PLAIN:
        return "reference code"
    if part.source in {path.stem for path in (HERE / "runtime").glob("*.c")}:
        return "harness"
    return "calls" if part.source else "C library"


def _complete(owners: Counter[str], total: int) -> dict[str, int]:
    """Bytes by owner in the order of `OWNERS`, with those that no object has."""
    owners["alignment"] += total - sum(owners.values())
    return {name: owners[name] for name in OWNERS if owners[name]}


class Bytes(NamedTuple):
    """One kind of memory."""

    predicted: int
    """Bytes that follow from the model and the release alone."""
    measured: int
    """Bytes in the ELF file by symbol; for scratch, what the size functions answered."""

    @property
    def difference(self) -> int:
        """How many more there are than predicted."""
        return self.measured - self.predicted
