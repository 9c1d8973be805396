"""Build attributes that Arm's tools leave in `.ARM.attributes` ("Addenda to the ABI for the Arm Architecture")."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CPU_RAW_NAME, CPU_NAME, CPU_ARCH, FP_ARCH, DSP_EXTENSION, MVE_ARCH, COMPATIBILITY = 4, 5, 6, 10, 46, 48, 32
TEXTS = (CPU_RAW_NAME, CPU_NAME, 65, 67)
FILE_SCOPE = 1
MOST = 1000
"""Attributes that are read."""

ARCHITECTURES: Mapping[int, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        10: ("Armv7-M", ("cortex-m3",)),
        11: ("Armv6-M", ("cortex-m0", "cortex-m0+")),
        12: ("Armv6-M", ("cortex-m0", "cortex-m0+")),
        13: ("Armv7E-M", ("cortex-m4", "cortex-m7")),
        16: ("Armv8-M Baseline", ("cortex-m23",)),
        17: ("Armv8-M Mainline", ("cortex-m33",)),
        21: ("Armv8.1-M Mainline", ("cortex-m55", "cortex-m85", "cortex-m52")),
    }
)
"""Architecture and cores by Tag_CPU_arch; the core that code is judged for comes first."""


class Attributes:
    """The attributes of one file."""

    def __init__(self, values: Mapping[int, int | str]) -> None:
        self.values = values
        """Value by number of the tag."""

    def number(self, tag: int) -> int:
        """A number; 0 where the file leaves it out."""
        value = self.values.get(tag, 0)
        return value if isinstance(value, int) else 0

    @property
    def cpu(self) -> str:
        """Name of the core or the architecture as the compiler wrote it: `cortex-m55`, `7E-M`."""
        return str(self.values.get(CPU_NAME, "") or self.values.get(CPU_RAW_NAME, ""))

    @property
    def architecture(self) -> str:
        """The architecture; empty where nothing tells it."""
        return ARCHITECTURES.get(self.number(CPU_ARCH), ("", ()))[0]

    @property
    def cores(self) -> tuple[str, ...]:
        """Cores that it may be for: one where the compiler names it."""
        name = self.cpu.lower()
        if name.startswith("cortex-m"):
            return (name.replace("plus", "+"),)
        return ARCHITECTURES.get(self.number(CPU_ARCH), ("", ()))[1]


def read_attributes(data: memoryview) -> Attributes:
    """The attributes of the whole file; none where the section is missing or damaged."""
    values: dict[int, int | str] = {}
    content = bytes(data)
    if content[:1] != b"A":
        return Attributes(values)
    length = int.from_bytes(content[1:5], "little")
    vendor = content.find(b"\0", 5, 5 + 64)
    if vendor < 0 or content[5:vendor] != b"aeabi":
        return Attributes(values)
    position, end = vendor + 1, min(1 + length, len(content))
    if position + 5 > end or content[position] != FILE_SCOPE:
        return Attributes(values)
    end = min(end, position + int.from_bytes(content[position + 1 : position + 5], "little"))
    position += 5
    while position < end and len(values) < MOST:
        tag, position = _uleb(content, position, end)
        if tag in TEXTS or (tag > COMPATIBILITY and tag % 2):
            stop = content.find(b"\0", position, end)
            if stop < 0:
                break
            values[tag] = content[position:stop].decode("ascii", "replace")
            position = stop + 1
            continue
        values[tag], position = _uleb(content, position, end)
        if tag == COMPATIBILITY:
            position = content.find(b"\0", position, end) + 1 or end
    return Attributes(values)


def _uleb(content: bytes, position: int, end: int) -> tuple[int, int]:
    """A number of 7 bits a byte, and the position behind it."""
    value = shift = 0
    while position < end and shift < 35:
        byte = content[position]
        position, value, shift = position + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            break
    return value, position
