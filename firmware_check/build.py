"""From a Program to ELF images: one that is traced and guarded, one that is only measured."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.arena import plan
from firmware_check.emit import HERE, linker_script, model_source, thunks_source
from firmware_check.toolchain import Compiler, SectionSizes, Sources, cache_folder, link, sizes

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from firmware_check.library import Library
    from firmware_check.program import Program

GUARD = 128
"""Bytes of guard around each value and each scratch buffer; runtime/firmware.h has the same."""
STACK = 32 << 10
"""Bytes kept for the stack."""

_OPTIMISE = ("-O3", "-ffunction-sections", "-fdata-sections", "-std=gnu11")
_OWN = ("-O2", "-Wall", "-Wextra", "-ffunction-sections", "-fdata-sections", "-std=gnu11")
_INSTRUMENT = ("-finstrument-functions", "-finstrument-functions-exclude-file-list=Include/,arm-none-eabi/,gcc/")


_WORD = re.compile(r"\barm_\w+")


@dataclass(frozen=True, eq=False)
class Bench:
    """What firmware is built for and with."""

    board: Board
    """CPU and machine."""
    library: Library
    """Copy of CMSIS-NN."""
    seconds: float = 120.0
    """For one run of QEMU."""


@dataclass(frozen=True)
class Image:
    """One linked firmware."""

    path: Path
    """ELF file."""
    sizes: SectionSizes
    """Of its sections."""
    arena: int
    """Bytes of the activation arena."""


def build(program: Program, bench: Bench, folder: Path, title: str, traced: bool) -> Image:
    """Generate, compile and link a program into `folder`."""
    arena = plan(program, GUARD if traced else 0)
    text = model_source(program, arena, bench.board, bench.library, title)
    image = build_source(text, bench, folder, traced)
    return Image(image, sizes(image), arena.size)


def build_source(text: str, bench: Bench, folder: Path, traced: bool) -> Path:
    """Compile and link generated C with the harness and what it calls of the library."""
    board, library = bench.board, bench.library
    (folder / "model.c").write_text(text, encoding="utf-8")
    (folder / "link.ld").write_text(linker_script(board, STACK), encoding="utf-8")
    kernels = library.files_for({word for word in _WORD.findall(text) if library.has(word)})
    wrapped = library.public_in(kernels) if traced else []
    (folder / "thunks.S").write_text(thunks_source(wrapped), encoding="utf-8")
    lasting, passing = _sources(kernels, folder, traced)
    compiler = Compiler(board.flags, (*library.includes, HERE / "runtime"))
    objects = [*compiler.compile_all(lasting, cache_folder()), *compiler.compile_all(passing, folder)]
    image = folder / ("traced.elf" if traced else "plain.elf")
    link(board.flags, objects, folder / "link.ld", image, wrapped)
    return image


def _sources(kernels: list[Path], folder: Path, traced: bool) -> tuple[Sources, Sources]:
    """Sources that every model needs, whose objects are kept, and the sources of this model."""
    own = (*_OWN, "-DTRACED", "-DGUARDED") if traced else _OWN
    optimise = (*_OPTIMISE, *_INSTRUMENT) if traced else _OPTIMISE
    lasting: Sources = [(path, optimise) for path in kernels]
    lasting += [(path, own) for path in sorted((HERE / "runtime").glob("*.c"))]
    passing: Sources = [(folder / "model.c", own)]
    if traced:
        passing.append((folder / "thunks.S", ()))
    return lasting, passing
