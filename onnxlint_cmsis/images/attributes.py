"""Build attributes that Arm's tools leave in `.ARM.attributes` ("Addenda to the ABI for the Arm Architecture")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from onnxlint_cmsis.ground.types import Isa

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


_LINKED_FOR = re.compile(r"--cpu=(Cortex-M\d+(?:\+|plus)?)((?:[.+]\w+)*)", re.IGNORECASE)
"""Core that armlink writes, with what it has or lacks: `--cpu=Cortex-M33.no_dsp`."""
ALIGNED_ONLY = ("Armv6-M", "Armv8-M Baseline")
"""Architectures without unaligned accesses (Armv6-M and Armv8-M Architecture Reference Manuals, alignment support)."""
WITHOUT_DSP = ("Armv6-M", "Armv7-M", "Armv8-M Baseline")
ARMV7E_M, ARMV8_1_M = 13, 21
"""Tag_CPU_arch of the first architectures with DSP always, and with MVE."""
CODE = "instructions of CMSIS-NN"
DSP_BY_CHOICE = ("Armv8-M Mainline",)
WITH_MVE = ("Armv8.1-M Mainline",)
INTEGER_MVE = 1


class Attributes:
    """The attributes of one file."""

    def __init__(
        self, values: Mapping[int, int | str], source: str = ".ARM.attributes", *, first_file: bool = False
    ) -> None:
        self.values = values
        """Value by number of the tag."""
        self.source = source
        """What has them: a section, or code."""
        self.first_file = first_file
        """Whether they are those of one file of the image, as ld.lld keeps; GNU ld merges those of all."""

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
    def reads_unaligned(self) -> bool:
        """Tell whether code for it may read words where they are not aligned, so that it needs no memcpy for that."""
        return self.architecture not in ALIGNED_ONLY

    @property
    def sure(self) -> bool:
        """Tell whether they hold for the whole image: for one file of it only where that names a core."""
        return not self.first_file or self.cpu.lower().startswith("cortex-m")

    def at_least(self, isa: Isa | None) -> Attributes:
        """The same, or those of the first architecture whose code CMSIS-NN's functions are."""
        if isa is Isa.MVE and not self.number(MVE_ARCH):
            return Attributes({CPU_ARCH: ARMV8_1_M, DSP_EXTENSION: 1, MVE_ARCH: INTEGER_MVE}, CODE)
        if isa is Isa.DSP and self.architecture in WITHOUT_DSP:
            return Attributes({CPU_ARCH: ARMV7E_M}, CODE)
        return self

    @property
    def cores(self) -> tuple[str, ...]:
        """Cores that it may be for: one where the compiler names it."""
        name = self.cpu.lower()
        if name.startswith("cortex-m"):
            return (name.replace("plus", "+"),)
        return ARCHITECTURES.get(self.number(CPU_ARCH), ("", ()))[1]


def read_attributes(data: memoryview, *, first_file: bool = False) -> Attributes:
    """The attributes of the whole file; none where the section is missing or damaged."""
    values: dict[int, int | str] = {}
    content = bytes(data)
    if content[:1] != b"A":
        return Attributes(values, first_file=first_file)
    length = int.from_bytes(content[1:5], "little")
    vendor = content.find(b"\0", 5, 5 + 64)
    if vendor < 0 or content[5:vendor] != b"aeabi":
        return Attributes(values, first_file=first_file)
    position, end = vendor + 1, min(1 + length, len(content))
    if position + 5 > end or content[position] != FILE_SCOPE:
        return Attributes(values, first_file=first_file)
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
    return Attributes(values, first_file=first_file)


def linked_for(comment: str) -> Attributes:
    """The attributes of the core that armlink wrote into `.comment`; none where it names none, or several.

    armlink writes no `.ARM.attributes` into an image.
    """
    cores = {(name.lower(), options.lower()) for name, options in _LINKED_FOR.findall(comment)}
    if len({name for name, _ in cores}) != 1:
        return Attributes({})
    name = next(name for name, _ in cores).replace("plus", "+")
    lacks = "".join(options for _, options in cores).replace("_", "")
    for number, (architecture, known) in ARCHITECTURES.items():
        if name in known:
            values: dict[int, int | str] = {CPU_NAME: name, CPU_ARCH: number}
            values |= {DSP_EXTENSION: 1} if architecture in (*DSP_BY_CHOICE, *WITH_MVE) and "nodsp" not in lacks else {}
            values |= {MVE_ARCH: INTEGER_MVE} if architecture in WITH_MVE and "nomve" not in lacks else {}
            return Attributes(values, ".comment")
    return Attributes({})


def _uleb(content: bytes, position: int, end: int) -> tuple[int, int]:
    """A number of 7 bits a byte, and the position behind it."""
    value = shift = 0
    while position < end and shift < 35:
        byte = content[position]
        position, value, shift = position + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            break
    return value, position
