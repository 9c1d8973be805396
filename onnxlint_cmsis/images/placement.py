"""Where the weights and the arena of an image lie, by the addresses that vendors give to memories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxlint_cmsis.images.build import Build

KIB = 1024
MIB = 1024 * KIB


class VendorMemory(NamedTuple):
    """Addresses that are one memory on every device of a CPU that has them and, where one is named, the symbol."""

    cpu: str
    """CPU without suffixes."""
    first: int
    """First address."""
    size: int
    """Bytes."""
    memory: str
    """Its name in the settings `weights-in` and `arena-in`."""
    devices: str
    """Devices that have it there."""
    source: str
    """Where their addresses stand."""
    symbol: str = ""
    """Symbol of the vendor's start-up code that has to be in the image, as other vendors use these addresses too."""


_ZEPHYR = "https://github.com/zephyrproject-rtos/zephyr/blob/main/dts/arm/"
_ARM = "https://developer.arm.com/documentation/ddi0553/latest (system address map, SRAM)"
_PICO, _STM32 = "__flash_binary_start", "HAL_RCC_OscConfig"
_ALIF = "https://github.com/alifsemi/alif_ensemble-cmsis-dfp"
_APOLLO = f"{_ZEPHYR}ambiq/ambiq_apollo510.dtsi"

VENDOR_MEMORIES = (
    VendorMemory("cortex-m0+", 0x1000_0000, 16 * MIB, "xip", "RP2040", f"{_ZEPHYR}raspberrypi/rpi_pico", _PICO),
    VendorMemory("cortex-m0+", 0x2000_0000, 512 * KIB, "sram", "all", _ARM),
    VendorMemory("cortex-m4", 0x0800_0000, 2 * MIB, "flash", "STM32", f"{_ZEPHYR}st/l4", _STM32),
    VendorMemory("cortex-m4", 0x2000_0000, 512 * KIB, "sram", "all", _ARM),
    VendorMemory("cortex-m7", 0x0800_0000, 2 * MIB, "flash", "STM32F7, STM32H7", f"{_ZEPHYR}st/h7", _STM32),
    VendorMemory("cortex-m7", 0x2000_0000, 64 * KIB, "tcm", "STM32F7, STM32H7", f"{_ZEPHYR}st/h7", _STM32),
    VendorMemory("cortex-m7", 0x2400_0000, 512 * KIB, "sram", "STM32H7", f"{_ZEPHYR}st/h7", _STM32),
    VendorMemory("cortex-m33", 0x1000_0000, 32 * MIB, "xip", "RP2350", f"{_ZEPHYR}raspberrypi/rpi_pico", _PICO),
    VendorMemory("cortex-m33", 0x0800_0000, 4 * MIB, "flash", "STM32L5, STM32U5", f"{_ZEPHYR}st/u5", _STM32),
    VendorMemory("cortex-m33", 0x2000_0000, 512 * KIB, "sram", "all", _ARM),
    VendorMemory("cortex-m55", 0x2000_0000, 256 * KIB, "tcm", "Apollo510, Alif Ensemble", _APOLLO),
    VendorMemory("cortex-m55", 0x2010_0000, 2 * MIB + 512 * KIB, "sram", "Apollo510", _APOLLO),
    VendorMemory("cortex-m55", 0x0040_0000, 4 * MIB, "mram", "Apollo510", _APOLLO),
    VendorMemory("cortex-m55", 0x0200_0000, 4 * MIB, "sram", "Alif Ensemble", _ALIF),
    VendorMemory("cortex-m55", 0x0800_0000, 2 * MIB + 512 * KIB, "sram", "Alif Ensemble", _ALIF),
    VendorMemory("cortex-m55", 0x8000_0000, 5 * MIB + 512 * KIB, "mram", "Alif Ensemble", _ALIF),
    VendorMemory("cortex-m85", 0x2000_0000, 64 * KIB, "tcm", "RA8D1, RA8M1", f"{_ZEPHYR}renesas/ra/ra8"),
    VendorMemory("cortex-m85", 0x2200_0000, 896 * KIB, "sram", "RA8D1, RA8M1", f"{_ZEPHYR}renesas/ra/ra8"),
)
"""Memories that a line has a public figure for; an address that two devices use differently is in no row."""
NAMED = ("tcm", "mram")
"""Memories that a region of a linker script is called by: DTCMRAM, MRAM."""


def placement(build: Build, cpu: str) -> dict[str, str]:
    """Values of `weights-in` and `arena-in` on a CPU; without those that the image does not tell.

    All models of the image have to lie in one memory, and all objects that are called arena.
    """
    models = [model.address for model in build.models] if build.image.linked and build.image.addressed else []
    arenas = [arena.address for arena in build.memory.arenas] if build.memory else []
    told = {"weights-in": _memory_of(build, cpu, models), "arena-in": _memory_of(build, cpu, arenas)}
    return {key: memory for key, memory in told.items() if memory}


def _memory_of(build: Build, cpu: str, addresses: Iterable[int]) -> str:
    names = {memory_at(build, cpu.partition("+no")[0], address) for address in addresses}
    return names.pop() if len(names) == 1 else ""


def memory_at(build: Build, cpu: str, address: int) -> str:
    """The memory at an address: by its region in the map file, else by the vendor; empty where neither tells."""
    for region in build.memory.regions if build.memory else ():
        if region.holds(address):
            by_name = next((name for name in NAMED if name in region.name.lower()), "")
            if by_name:
                return by_name
    return next(
        (
            row.memory
            for row in VENDOR_MEMORIES
            if row.cpu == cpu
            and row.first <= address < row.first + row.size
            and (not row.symbol or row.symbol in build.image.names)
        ),
        "",
    )
