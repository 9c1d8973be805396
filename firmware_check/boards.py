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
    clock: int
    """Hertz of the CPU's clock, which SysTick counts (`cpuclk` of armv7m in QEMU's `info qtree`)."""
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

    def instructions(self, counts: int) -> float:
        """Instructions that run within so many counts of SysTick: under `-icount shift=0` each takes a nanosecond."""
        return counts * 1e9 / self.clock


_MIB = 1 << 20
_MHZ = 1_000_000
_CODE = Region(0x0000_0000, 4 * _MIB)
_MPS2 = (25 * _MHZ, _CODE, Region(0x2100_0000, 16 * _MIB), Region(0x2100_0000, 16 * _MIB), 0x4000_4000)
_AN500 = (25 * _MHZ, _CODE, Region(0x6000_0000, 16 * _MIB), Region(0x6000_0000, 16 * _MIB), 0x4000_4000)
_AN505 = (
    20 * _MHZ, Region(0x1000_0000, 4 * _MIB), Region(0x8000_0000, 4 * _MIB), Region(0x8000_0000, 16 * _MIB),
    0x5020_0000,
)  # fmt: skip
_AN547 = (
    32 * _MHZ, Region(0x0000_0000, _MIB // 2), Region(0x7000_0000, 4 * _MIB), Region(0x6000_0000, 2048 * _MIB),
    0x5930_3000,
)  # fmt: skip
"""Clock, flash, RAM, shared RAM, UART. AN547's secure state, in which cores start, has every other 256 MiB of DDR."""
_SOFT = ("-mfloat-abi=soft",)


def _with_fpu(core: str, fpu: str) -> tuple[str, ...]:
    """Flags for a core with its unit for floating-point numbers."""
    return f"-mcpu=cortex-{core}", f"-mfpu={fpu}-d16", "-mfloat-abi=hard"


BOARDS = (
    Board(
        "cortex-m0", Isa.SCALAR, "mps2-an385", ("-mcpu=cortex-m0", *_SOFT), *_MPS2,
        remark="code for Armv6-M, run by the board's Cortex-M3",
    ),
    Board("cortex-m3", Isa.SCALAR, "mps2-an385", ("-mcpu=cortex-m3", *_SOFT), *_MPS2),
    Board("cortex-m4", Isa.DSP, "mps2-an386", ("-mcpu=cortex-m4", *_SOFT), *_MPS2, _with_fpu("m4", "fpv4-sp")),
    Board("cortex-m7", Isa.DSP, "mps2-an500", ("-mcpu=cortex-m7", *_SOFT), *_AN500, _with_fpu("m7", "fpv5")),
    Board(
        "cortex-m23", Isa.SCALAR, "mps2-an505", ("-mcpu=cortex-m23", *_SOFT), *_AN505,
        remark="code for Armv8-M Baseline, run by the board's Cortex-M33",
    ),
    Board("cortex-m33", Isa.DSP, "mps2-an505", ("-mcpu=cortex-m33", *_SOFT), *_AN505, _with_fpu("m33", "fpv5-sp")),
    Board("cortex-m55", Isa.MVE, "mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"), *_AN547),
)  # fmt: skip
"""Boards in the order in which they are shown."""
