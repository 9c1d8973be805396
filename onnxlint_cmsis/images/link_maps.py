"""Regions of memory by the map file that a linker wrote beside an image.

GNU ld begins with a table, "Memory Configuration"; each section of the image has a line behind it. armlink (--map) has
a line for each execution region, with the most that it may take (Arm Compiler for Embedded Reference Guide, --map).
ld.lld has no regions in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from onnxlint_cmsis.ground.files import read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image

MAP_FILE = 2**26
"""Bytes of the largest map file that is read."""
MOST_REGIONS = 100
"""Regions that are read; a real map has some ten."""
MOST_SECTIONS = 1000
"""Lines of sections that are read."""
SRAM = range(0x2000_0000, 0x4000_0000)
"""Addresses that are RAM in every Cortex-M (Armv7-M Architecture Reference Manual, B3.1)."""
UNLIMITED = 0xFFFF_FFFF
"""What armlink writes where a region has no limit."""
GNU, ARMLINK, LLD = "GNU ld", "armlink", "ld.lld"
_GNU = re.compile(r"^(\w+) +0x([0-9a-f]{8,16}) +0x([0-9a-f]{8,16})(?: +([xrwail!]+))?[ \r]*$", re.MULTILINE)
_SECTION = re.compile(r"^([\w.$-]{1,200})(?:\r?\n)? {1,80}0x[0-9a-f]{1,16} +0x([0-9a-f]{1,16})\b", re.MULTILINE)
"""A section of the image; a long name stands in a line of its own."""
_EXECUTION = re.compile(
    r"^\s*Execution Region (\S+) \((?:Exec base|Base): 0x([0-9a-f]{8}), (?:Load base: 0x[0-9a-f]{8}, )?"
    r"Size: 0x[0-9a-f]{8}, Max: 0x([0-9a-f]{8}),",
    re.MULTILINE,
)
_WRITTEN = re.compile(r"\s(?:Data|Zero)\s+RW\s")
_SECTIONS = re.compile(r"\s*VMA\s+LMA\s+Size\s+Align\s+Out\s+In\s+Symbol\s")


class Region(NamedTuple):
    """A region of memory as the linker was told of it."""

    name: str
    """Its name: RAM, FLASH."""
    address: int
    """Its first address."""
    size: int
    """Its bytes."""
    writable: bool
    """Whether it is RAM."""

    def holds(self, address: int) -> bool:
        """Tell whether an address is in it."""
        return 0 <= address - self.address < self.size


class LinkMap(NamedTuple):
    """What a map file says."""

    linker: str = ""
    """Who wrote it: GNU, ARMLINK or LLD; empty where there is none, or it is another linker's."""
    regions: tuple[Region, ...] = ()
    """Regions of memory; none by LLD."""
    sections: Mapping[str, frozenset[int]] = MappingProxyType({})
    """Bytes of the sections of a name; none but by GNU."""

    def unlike(self, image: Image) -> str:
        """What shows that it is of another link than an image; empty where nothing does.

        GNU ld writes the bytes of each section, other linkers the regions alone, which hold code and variables.
        """
        loaded = [section for section in image.sections if section.loaded and section.size]
        for section in loaded:
            written = self.sections.get(section.name)
            if written and section.size not in written:
                sizes = " and ".join(f"{size:,}" for size in sorted(written))
                return f"{section.name} has {sizes} bytes there and {section.size:,} in the image"
        if not self.regions or any(section.name in self.sections for section in loaded):
            return ""
        moved = (section for section in loaded if section.executable or section.writable)
        outside = next((row for row in moved if not any(region.holds(row.address) for region in self.regions)), None)
        return f"{outside.name} of the image, at 0x{outside.address:08x}, lies in no region of it" if outside else ""


NO_MAP = LinkMap()


def map_beside(path: str) -> LinkMap:
    """The map file beside an image: `app.map`, `app.elf.map`."""
    for name in (Path(path).with_suffix(".map"), Path(f"{path}.map")):
        try:
            read = read_map(read_regular(name, MAP_FILE).decode("utf-8", "replace"))
        except (OSError, ValueError):
            continue
        if read.linker:
            return read
    return NO_MAP


def read_map(text: str) -> LinkMap:
    """What the text of a map file says."""
    start = text.find("Memory Configuration")
    if start >= 0:
        end = text.find("Linker script and memory map", start)
        rows = islice(_GNU.finditer(text, start, end if end >= 0 else start + 10_000), MOST_REGIONS)
        regions = ((row[1], int(row[2], 16), int(row[3], 16), row[4] or "") for row in rows)
        return LinkMap(
            GNU,
            tuple(
                Region(name, at, size, "w" in flags or (not flags and at in SRAM))
                for name, at, size, flags in regions
                if size
            ),
            _sections(text, end),
        )
    if "Execution Region " in text:
        return LinkMap(ARMLINK, tuple(_execution_regions(text)))
    return LinkMap(LLD if _SECTIONS.match(text) else "")


def _sections(text: str, start: int) -> dict[str, frozenset[int]]:
    """Bytes of the sections that stand behind the table of regions."""
    sizes: dict[str, set[int]] = {}
    for row in islice(_SECTION.finditer(text, start), MOST_SECTIONS) if start >= 0 else ():
        sizes.setdefault(row[1], set()).add(int(row[2], 16))
    return {name: frozenset(of_name) for name, of_name in sizes.items()}


def _execution_regions(text: str) -> Iterator[Region]:
    """Those that have a limit; what lies in one tells whether it is written to."""
    rows = [*islice(_EXECUTION.finditer(text), MOST_REGIONS)]
    for row, end in zip(rows, [*(row.start() for row in rows[1:]), len(text)], strict=False):
        address, size = int(row[2], 16), int(row[3], 16)
        if size not in (0, UNLIMITED):
            yield Region(row[1], address, size, address in SRAM or bool(_WRITTEN.search(text, row.end(), end)))
