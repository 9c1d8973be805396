"""What a line of 32 bytes costs in each memory of a device, from public measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.cores import Core

LINE = 32
"""Bytes of a line."""
UNKNOWN = "unknown"
NAMES = ("tcm", "sram", "flash", "mram", "xip")
"""Memories that have a name; a whole number of cycles for each line names any other."""
MOST_CYCLES = 100_000
"""For one line, as people may write it."""


class Memory(NamedTuple):
    """One memory of a CPU's devices."""

    cpu: str
    """CPU."""
    name: str
    """One of NAMES."""
    least: float
    """Nanoseconds of a line that is not in a cache, at least."""
    most: float
    """At most."""
    source: str
    """Where that comes from."""


MEMORIES = (
    Memory("cortex-m0+", "xip", 3400, 4400, "RP2040 at 133 MHz, dense layers and convolutions"),
    Memory("cortex-m4", "flash", 75, 300, "NUCLEO-F446RE at 180 MHz, NUCLEO-L4R5ZI at 120 MHz"),
    Memory("cortex-m7", "flash", 17, 26, "NUCLEO-H753ZI at 480 MHz"),
    Memory("cortex-m7", "sram", 0, 25, "NUCLEO-H753ZI at 480 MHz"),
    Memory("cortex-m7", "xip", 400, 750, "Teensy 4.0 at 600 MHz"),
    Memory("cortex-m33", "flash", 60, 110, "nRF5340 at 128 MHz, EK-RA6M4 at 200 MHz"),
    Memory("cortex-m33", "xip", 2900, 6700, "RP2350 at 150 MHz in three builds, dense layers and convolutions"),
    Memory("cortex-m55", "mram", 80, 115, "Apollo510 at 250 and 96 MHz, Alif E8 at 400 MHz"),
    Memory("cortex-m55", "sram", 67, 100, "Alif E8 at 400 MHz"),
    Memory("cortex-m85", "flash", 34, 52, "EK-RA8D1 at 480 MHz"),
    Memory("cortex-m85", "sram", 0, 25, "taken for that of Cortex-M7"),
)
"""Measured memories. Tightly coupled memory costs nothing, and so does SRAM where no cache lies before it."""

WITHOUT_WAIT = {
    "tcm": ("cortex-m0+", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85"),
    "sram": ("cortex-m0+", "cortex-m4", "cortex-m33"),
}
"""Memories that answer at once, with the CPUs for which that holds."""


class LineCost(NamedTuple):
    """Cycles of a line at a clock."""

    least: float
    """At least."""
    most: float
    """At most."""


def memory_name(text: str) -> str:
    """A memory as people write it, `unknown` with it. Raises ValueError for another."""
    name = text.strip().lower()
    if name in (UNKNOWN, *NAMES) or (name.isdecimal() and int(name) <= MOST_CYCLES):
        return name
    allowed = ", ".join((UNKNOWN, *NAMES))
    raise ValueError(f"{text!r} is not one of {allowed}, and no whole number of cycles for a line of {LINE} bytes")


def line_cost(core: Core, name: str, clock: int) -> LineCost | None:
    """Cycles of a line in a memory at a clock in hertz; None where nothing was measured on that CPU."""
    if name.isdecimal():
        return LineCost(float(name), float(name))
    if core.cpu in WITHOUT_WAIT.get(name, ()):
        return LineCost(0.0, 0.0)
    row = next((row for row in MEMORIES if (row.cpu, row.name) == (core.cpu, name)), None)
    return row and LineCost(row.least * clock / 1e9, row.most * clock / 1e9)


def fastest(cpu: str) -> str:
    """The memory of a CPU's devices in which a line costs nothing."""
    return "sram" if cpu in WITHOUT_WAIT["sram"] else "tcm"


def placements(core: Core, weights: str, arena: str) -> tuple[tuple[str, str], ...]:
    """Memories of weights and arena that a CPU may have, where either is given or unknown."""
    pairs = [
        (usual[0] if weights == UNKNOWN else weights, usual[1] if arena == UNKNOWN else arena) for usual in core.usual
    ]
    return tuple(dict.fromkeys(pairs))
