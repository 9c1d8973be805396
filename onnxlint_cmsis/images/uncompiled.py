"""Members of a library that have no code yet, as the linker compiles them (-flto): what their names tell."""

from __future__ import annotations

from collections.abc import Iterable

from onnxlint_cmsis.images.image import Image
from onnxlint_cmsis.images.library_use import named_releases, table

BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""What clang's members begin with ("LLVM Bitcode File Format", magic numbers; with and without a wrapper)."""
GCC_SECTIONS = ".gnu.lto_"
"""Beginning of the names of sections that gcc's members have in place of code."""


def is_bitcode(data: memoryview) -> bool:
    """Tell whether a member is clang's."""
    return bytes(data[:4]) in BITCODE


def is_uncompiled(image: Image) -> bool:
    """Tell whether a member is gcc's and has no code beside what the linker compiles."""
    return not image.functions and any(section.name.startswith(GCC_SECTIONS) for section in image.sections)


def library_files(members: Iterable[str]) -> tuple[str, ...]:
    """The sources of CMSIS-NN among members by their names, as `arm_softmax_s8.c.o`."""
    known = frozenset().union(*_files())
    return tuple(sorted(known & {f"{member.partition('.')[0]}.c" for member in members}))


def releases_of(files: Iterable[str]) -> tuple[str, ...]:
    """Releases that have all these files; of a whole library those whose files are most like them."""
    own = frozenset(files)
    missing = {number: len(theirs - own) for number, theirs in enumerate(_files()) if own and own <= theirs}
    least = min(missing.values(), default=0)
    whole = least * 10 <= len(own)
    return named_releases({number for number, count in missing.items() if not whole or count == least})


def _files() -> list[frozenset[str]]:
    """The files with functions of each release and commit."""
    known = table()
    rows = [row for rows in known.functions.values() for row in rows if row.file]
    return [frozenset(row.file for row in rows if row.mask >> 3 * number & 7) for number in range(len(known.sources))]
