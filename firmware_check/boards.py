"""The boards QEMU has for each CPU: one row per CPU."""

from __future__ import annotations

from dataclasses import dataclass

from onnxlint_cmsis.types import Isa


@dataclass(frozen=True)
class Region:
    """A stretch of the board's memory."""

    origin: int
    """First address."""
    size: int
    """Bytes."""


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
    flash: Region
    """Where code and constants go; the vector table is at its start."""
    ram: Region
    """Where variables, arena, scratch and stack go."""
    tick: int
    """Instructions per SysTick count under `-icount shift=0` (1 ns each)."""
    remark: str = ""
    """How the emulated machine differs from the CPU's silicon, empty where it does not."""


_MIB = 1 << 20
_MPS2 = (Region(0x0000_0000, 4 * _MIB), Region(0x2100_0000, 16 * _MIB))
_AN500 = (Region(0x0000_0000, 4 * _MIB), Region(0x6000_0000, 16 * _MIB))
_SOFT = ("-mfloat-abi=soft",)

BOARDS = (
    Board(
        "cortex-m0", Isa.SCALAR, "mps2-an385", ("-mcpu=cortex-m0", *_SOFT), *_MPS2, 40,
        "code for Armv6-M, run by the board's Cortex-M3",
    ),
    Board("cortex-m3", Isa.SCALAR, "mps2-an385", ("-mcpu=cortex-m3", *_SOFT), *_MPS2, 40),
    Board("cortex-m4", Isa.DSP, "mps2-an386", ("-mcpu=cortex-m4", *_SOFT), *_MPS2, 40),
    Board("cortex-m7", Isa.DSP, "mps2-an500", ("-mcpu=cortex-m7", *_SOFT), *_AN500, 40),
    Board(
        "cortex-m33", Isa.DSP, "mps2-an505", ("-mcpu=cortex-m33", *_SOFT),
        Region(0x1000_0000, 4 * _MIB), Region(0x3800_0000, 4 * _MIB), 50,
    ),
    Board(
        "cortex-m55", Isa.MVE, "mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
        Region(0x0000_0000, _MIB // 2), Region(0x2100_0000, 4 * _MIB), 40,
    ),
)  # fmt: skip
"""In the order they are shown."""
