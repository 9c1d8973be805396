"""How source files were compiled, by what gcc wrote beside the code: -g, or -frecord-gcc-switches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PureWindowsPath

from onnxlint_cmsis.images.dwarf import source_units, structure_sizes
from onnxlint_cmsis.images.image import Image
from onnxlint_cmsis.images.library_use import table

LEVEL = re.compile(r"(?<!\S)-O([0-3sgz]|fast)?(?!\S)")
WRITES_OPTIONS = "GNU C"
"""Beginning of what gcc writes, with its options behind it; clang writes none."""
C_FILES = re.compile(r"GNU C\d")
"""What gcc writes for C, and not for C++."""
MOST_COMMANDS = 2**20
"""Bytes of recorded commands that are read."""
TENSOR = "TfLiteTensor"


def file_name(path: str) -> str:
    """The name without folders, of a path of any system."""
    return PureWindowsPath(path).name


def library_levels(image: Image, functions: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Files of CMSIS-NN that functions of the image come from, by level; no file's name where all of C has one level.

    The level is `-O2`; `-O0` where gcc was given none.
    """
    known = table().functions
    files = {row.file for name in functions for row in known.get(name, ())}
    levels: dict[str, tuple[str, ...]] = {}
    for unit in source_units(image):
        name = file_name(unit.file)
        if name in files and unit.producer.startswith(WRITES_OPTIONS):
            level = level_of(unit.producer)
            levels[level] = (*levels.get(level, ()), name)
    recorded = "" if levels else recorded_level(image)
    return {recorded: ()} if recorded else levels


def level_of(command: str) -> str:
    """The level of a command: the last one counts."""
    levels = LEVEL.findall(command)
    return f"-O{levels[-1] or 1}" if levels else "-O0"


def recorded_level(image: Image) -> str:
    """The level of all C files by -frecord-gcc-switches; empty where they were not recorded, or differ."""
    text = bytes(image.named(".GCC.command.line")[:MOST_COMMANDS]).decode("utf-8", "replace")
    levels = {level_of(command) for command in text.split("\0") if C_FILES.match(command)}
    return levels.pop() if len(levels) == 1 else ""


def structure_differs(image: Image) -> dict[int, tuple[str, ...]]:
    """Source files by the bytes that TfLiteTensor has in them, the most files first; empty where they agree."""
    sizes: dict[int, tuple[str, ...]] = {}
    for file, size in structure_sizes(image, TENSOR).items():
        sizes[size] = (*sizes.get(size, ()), file_name(file))
    return dict(sorted(sizes.items(), key=lambda row: -len(row[1]))) if len(sizes) > 1 else {}
