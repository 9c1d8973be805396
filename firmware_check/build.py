"""A program as generated C, compiled and linked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.arena import plan
from firmware_check.compilers import GCC, CompilerRow, label_of
from firmware_check.emit import HERE, linker_script, model_source, thunks_source
from firmware_check.errors import FirmwareError
from firmware_check.toolchain import (
    Compiler,
    Processes,
    SectionSizes,
    Sources,
    Symbol,
    cache_folder,
    link,
    sizes,
    symbols,
)
from onnxlint_cmsis.ground.types import Isa, Target

if TYPE_CHECKING:
    from firmware_check.boards import Board
    from firmware_check.library import Library
    from firmware_check.program import Program


FIRST_WITH_MVE_FLOATS = 14
"""gcc whose arm_mve.h takes the intrinsics of the functions for f32 and f16: the authors name it, 12.2 does not."""
GUARD = 128
"""Bytes of guard around each value and each scratch buffer; runtime/firmware.h has the same."""
STACK = 32 << 10
"""Bytes kept for the stack."""

_OPTIMISE = ("-O3", "-ffunction-sections", "-fdata-sections", "-std=gnu11")
_OWN = ("-Wall", "-Wextra", "-ffunction-sections", "-fdata-sections", "-std=gnu11")


_WORD = re.compile(r"\barm_\w+")


Watch = Callable[[Path, int], None]
"""Hears how many layers the report of an image has, each time it grows."""


@dataclass(frozen=True, eq=False)
class Bench:
    """What firmware is built for and with."""

    board: Board
    """CPU and machine."""
    library: Library
    """Copy of CMSIS-NN."""
    seconds: float = 120.0
    """For one run of QEMU."""
    compiler: CompilerRow = GCC
    """What CMSIS-NN is compiled with."""
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Files compiled, and firmwares run, at a time."""
    watch: Watch | None = None
    """What hears of layers that ran."""
    processes: Processes = field(default_factory=Processes)
    """Compilers and emulators that one execution started."""
    own: str = "-O2"
    """Optimisation of the firmware's own code, its reference code among it."""
    floating: str = ""
    """`f32` or `f16` where functions for these are called; empty for those for integers."""
    specialized: bool = True
    """False for NN_DISABLE_SPECIALIZATION, which leaves out kernels of f32 and f16 for single shapes."""
    fused: bool = False
    """True for -ffp-contract=fast: one instruction multiplies and adds floats."""
    low: int = 0
    """Bytes left free behind the vectors, for layers that write to the start of the flash."""

    @property
    def target(self) -> Target:
        """What it is for the linter."""
        name, _, version = label_of(self.compiler).partition(" ")
        return Target(self.board.cpu, self.board.isa, self.library.release, name, version, self.specialized, self.fused)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of every file and of the linker: they choose the CPU, and the functions that the library has."""
        if not self.floating:
            return self.board.flags
        switches = [f"-DARM_NN_ENABLE_{self.floating.upper()}=1", f"-ffp-contract={'fast' if self.fused else 'off'}"]
        switches += [] if self.specialized else ["-DNN_DISABLE_SPECIALIZATION"]
        return (*(self.board.float_flags or self.board.flags), *switches)

    @property
    def compilers(self) -> tuple[CompilerRow, CompilerRow]:
        """The compilers of CMSIS-NN, and of the harness and the calls."""
        rows = self.compiler, GCC
        return (rows[0].for_floats(), rows[1].for_floats()) if self.floating else rows

    def refuse_unlinkable(self) -> None:
        """FirmwareError for a compiler whose MVE code for f32 and f16 does not link."""
        if self.floating and self.board.isa is Isa.MVE and self.compiler is GCC:
            version = label_of(GCC).partition(" ")[2]
            if int(version.partition(".")[0] or 0) < FIRST_WITH_MVE_FLOATS:
                raise FirmwareError(
                    f"gcc {version} does not link CMSIS-NN's MVE code for {self.floating} (__ARM_undef): give "
                    f"--compiler clang, or gcc {FIRST_WITH_MVE_FLOATS} or newer"
                )


@dataclass(frozen=True)
class Image:
    """One linked firmware."""

    path: Path
    """ELF file."""
    sizes: SectionSizes
    """Sizes of its sections."""
    symbols: tuple[Symbol, ...]
    """Functions and variables of the image."""
    arena: int
    """Bytes of the activation arena."""
    rescued: tuple[str, ...] = ()
    """Files of the library that the compiler ended at with an internal error until other flags were tried."""


def build(program: Program, bench: Bench, folder: Path, title: str, traced: bool) -> Image:
    """Generate, compile and link a program into `folder`."""
    arena = plan(program, GUARD if traced else 0)
    text = model_source(program, arena, bench.board, bench.library, title)
    rescued: list[str] = []
    low = max((step.plan.outcome(bench.target).low[1] for step in program.steps if step.plan), default=0)
    image = build_source(text, replace(bench, low=low), folder, traced, rescued)
    functions = symbols(image, bench.processes)
    return Image(image, sizes(image, bench.processes), functions, arena.size, tuple(rescued))


def build_source(text: str, bench: Bench, folder: Path, traced: bool, rescued: list[str] | None = None) -> Path:
    """Compile and link generated C with the harness and what it calls of the library."""
    board, library = bench.board, bench.library
    (folder / "model.c").write_text(text, encoding="utf-8")
    (folder / "link.ld").write_text(linker_script(board, STACK, -(-bench.low // 16) * 16), encoding="utf-8")
    kernels = library.files_for({word for word in _WORD.findall(text) if library.has(word)})
    wrapped = library.public_in(kernels) if traced else []
    (folder / "thunks.S").write_text(thunks_source(wrapped), encoding="utf-8")
    optimise = (*_OPTIMISE, *bench.compiler.trace) if traced else _OPTIMISE
    own = (bench.own, *_OWN, f"-DUART=0x{board.uart:08x}", *(("-DTRACED", "-DGUARDED") if traced else ()))
    includes = (*library.includes, HERE / "runtime")
    bench.refuse_unlinkable()
    chosen, gcc = (Compiler(row, bench.flags, includes, bench.jobs, bench.processes) for row in bench.compilers)
    lasting: Sources = [(path, own) for path in sorted((HERE / "runtime").glob("*.c"))]
    passing: Sources = [(folder / "model.c", own), *([(folder / "thunks.S", ())] if traced else [])]
    objects = chosen.compile_all([(path, optimise) for path in kernels], cache_folder())
    objects += [*gcc.compile_all(lasting, cache_folder()), *gcc.compile_all(passing, folder)]
    if rescued is not None:
        rescued += chosen.rescued
    image = folder / ("traced.elf" if traced else "plain.elf")
    flags = (*bench.flags, *(f"-Wl,--wrap={name}" for name in wrapped))
    link(flags, objects, folder / "link.ld", image, bench.processes)
    return image
