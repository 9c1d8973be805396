"""The boards QEMU has for each CPU: one row per CPU."""

from __future__ import annotations

from dataclasses import dataclass

from onnxlint_cmsis.ground.types import Isa


@dataclass(frozen=True)
class Region:
    """A stretch of the board's memory."""

    origin: int
    """First address."""
    size: int
    """Bytes of the memory."""


@dataclass(frozen=True)
class Board:
    """One CPU and the QEMU machine that runs its code."""

    cpu: str
    """CPU as onnxlint_cmsis names it."""
    isa: Isa
    """Instruction-set class that CMSIS-NN's source sees in the build."""
    machine: str
    """QEMU machine."""
    flags: tuple[str, ...]
    """Compiler flags that choose the CPU."""
    tick: int
    """Instructions per SysTick count under `-icount shift=0` (1 ns each)."""
    flash: Region
    """Where code and constants go; the vector table is at its start."""
    ram: Region
    """Where variables, arena, scratch and stack go; a part of `shared`."""
    shared: Region
    """The machine's RAM as QEMU can put it into a file of the host (mps.ram in QEMU's hw/arm/mps2.c and mps2-tz.c)."""
    uart: int
    """Base address of UART 0."""
    float_flags: tuple[str, ...] = ()
    """Compiler flags in place of `flags` where functions for f32 and f16 are called; empty where they are the same."""
    remark: str = ""
    """How the emulated machine differs from the CPU's silicon, empty where it does not."""


_MIB = 1 << 20
_CODE = Region(0x0000_0000, 4 * _MIB)
_MPS2 = (_CODE, Region(0x2100_0000, 16 * _MIB), Region(0x2100_0000, 16 * _MIB), 0x4000_4000)
_AN500 = (_CODE, Region(0x6000_0000, 16 * _MIB), Region(0x6000_0000, 16 * _MIB), 0x4000_4000)
_AN505 = (
    Region(0x1000_0000, 4 * _MIB), Region(0x8000_0000, 4 * _MIB), Region(0x8000_0000, 16 * _MIB), 0x5020_0000,
)  # fmt: skip
_AN547 = (
    Region(0x0000_0000, _MIB // 2), Region(0x7000_0000, 4 * _MIB), Region(0x6000_0000, 2048 * _MIB), 0x5930_3000,
)  # fmt: skip
"""Flash, RAM, shared RAM, UART. The secure state, in which cores start, has every other 256 MiB of AN547's DDR."""
_SOFT = ("-mfloat-abi=soft",)


def _with_fpu(core: str, fpu: str) -> tuple[str, ...]:
    """Flags for a core with its unit for floating-point numbers."""
    return f"-mcpu=cortex-{core}", f"-mfpu={fpu}-d16", "-mfloat-abi=hard"


BOARDS = (
    Board(
        "cortex-m0", Isa.SCALAR, "mps2-an385", ("-mcpu=cortex-m0", *_SOFT), 40, *_MPS2,
        remark="code for Armv6-M, run by the board's Cortex-M3",
    ),
    Board("cortex-m3", Isa.SCALAR, "mps2-an385", ("-mcpu=cortex-m3", *_SOFT), 40, *_MPS2),
    Board("cortex-m4", Isa.DSP, "mps2-an386", ("-mcpu=cortex-m4", *_SOFT), 40, *_MPS2, _with_fpu("m4", "fpv4-sp")),
    Board("cortex-m7", Isa.DSP, "mps2-an500", ("-mcpu=cortex-m7", *_SOFT), 40, *_AN500, _with_fpu("m7", "fpv5")),
    Board("cortex-m33", Isa.DSP, "mps2-an505", ("-mcpu=cortex-m33", *_SOFT), 50, *_AN505, _with_fpu("m33", "fpv5-sp")),
    Board("cortex-m55", Isa.MVE, "mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"), 40, *_AN547),
)  # fmt: skip
"""Boards in the order in which they are shown."""
