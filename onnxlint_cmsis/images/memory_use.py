"""What an image takes of RAM and flash, and the objects in it that look like an arena."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image, Section
from onnxlint_cmsis.images.link_maps import LinkMap, Region
from onnxlint_cmsis.images.mangled import plain_name

LEAST_ARENA = 256
"""Bytes of the smallest object that is taken for an arena."""


class Arena(NamedTuple):
    """An object that is called arena."""

    symbol: str
    """Its symbol."""
    address: int
    """Its address."""
    size: int
    """Its bytes."""
    section: str
    """Its section."""

    @property
    def name(self) -> str:
        """Its name as people wrote it: `tensor_arena`."""
        return plain_name(self.symbol)

    @property
    def aligned(self) -> int:
        """Largest power of two up to 16 that its address is a multiple of."""
        return min(16, self.address & -self.address or 16)


class MemoryUse(NamedTuple):
    """Memory that an image takes."""

    ram: int
    """Bytes of writable sections, stack and heap among them where the linker reserves these."""
    flash: int
    """Bytes of sections with content, initial values of variables among them."""
    arenas: tuple[Arena, ...]
    """Objects that are called arena, the largest first."""
    regions: tuple[Region, ...] = ()
    """Regions of a map file beside the image."""
    mapped_by: str = ""
    """The linker that wrote the map file; empty where none is beside the image."""
    unlike: str = ""
    """What shows that the map file is of another link, so that its regions are not used."""


def memory_use(image: Image, written: LinkMap) -> MemoryUse | None:
    """RAM and flash of a linked image; None for a file that does not tell RAM from flash."""
    if image.form != "elf" or not image.linked:
        return None
    loaded = [section for section in image.sections if section.loaded and section.size]
    ram = sum(section.size for section in loaded if section.writable and not section.array)
    flash = sum(section.size for section in loaded if len(section.data) or not section.writable)
    arenas = [
        Arena(symbol.name, symbol.address, symbol.size, section.name)
        for symbol in image.symbols
        if "arena" in symbol.name.lower() and symbol.kind != "func" and symbol.size >= LEAST_ARENA
        if (section := image.section_at(symbol.address)) and section.writable
    ]
    arenas.sort(key=lambda arena: -arena.size)
    unlike = written.unlike(image)
    return MemoryUse(ram, flash, tuple(arenas), () if unlike else written.regions, written.linker, unlike)


def region_name(section: Section | None, address: int) -> str:
    """What lies at an address by the memory map of Armv7-M and Armv8-M, for people."""
    if section is not None and section.writable:
        return "RAM"
    if address < 0x2000_0000:
        return "flash"
    return "RAM" if address < 0x4000_0000 else "external memory" if 0x6000_0000 <= address < 0xA000_0000 else "?"
