"""Boards whose name may stand for their RAM, flash and clock: what the cited page says, and nothing more."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import alike

KIB = 1024
MIB = 1024 * KIB
MHZ = 1_000_000


class KnownBoard(NamedTuple):
    """One board."""

    name: str
    """Name in lower case, as its vendor writes it with dashes."""
    cpu: str
    """CPU of the core that runs the model."""
    ram: int
    """Bytes of RAM on the chip."""
    flash: int
    """Bytes of flash that code runs from."""
    clock: int
    """Hertz up to which the core runs; 0 where the page does not say it."""
    source: str
    """Page with the figures."""
    weights: str = "flash"
    """Memory that constants lie in: that which code runs from."""
    arena: str = "sram"
    """Memory of the arena."""
    code_cache: int | None = None
    """Bytes of the cache of instructions before the flash; None where nothing tells."""
    cache_source: str = ""
    """Reference manual that says it, or measurements that it explains."""


_RIOT = "https://doc.riot-os.org/"
_ZEPHYR = "https://docs.zephyrproject.org/"
_ARDUINO = "https://github.com/arduino/docs-content/blob/main/content/hardware/03.nano/boards/"

KNOWN_BOARDS = (
    KnownBoard(
        "ek-ra8d1",
        "cortex-m85",
        MIB,
        2 * MIB,
        0,
        "https://doc.qt.io/QtForMCUs-2.9/qtul-instructions-ek-ra8d1.html",
    ),
    KnownBoard("nano-33-ble", "cortex-m4", 256 * KIB, MIB, 64 * MHZ, f"{_ARDUINO}nano-33-ble/tech-specs.yml"),
    KnownBoard(
        "nucleo-f401re",
        "cortex-m4",
        96 * KIB,
        512 * KIB,
        84 * MHZ,
        f"{_RIOT}boards/nucleo-f401re",
        code_cache=KIB,
        cache_source="ST RM0368",
    ),
    KnownBoard(
        "nucleo-f439zi",
        "cortex-m4",
        256 * KIB,
        2 * MIB,
        180 * MHZ,
        f"{_RIOT}boards/nucleo-f439zi",
        code_cache=KIB,
        cache_source="ST RM0090",
    ),
    KnownBoard(
        "nucleo-f446re",
        "cortex-m4",
        128 * KIB,
        512 * KIB,
        180 * MHZ,
        f"{_RIOT}group__boards__nucleo-f446re.html",
        code_cache=KIB,
        cache_source="ST RM0390",
    ),
    KnownBoard(
        "nucleo-l433rc",
        "cortex-m4",
        64 * KIB,
        256 * KIB,
        80 * MHZ,
        f"{_RIOT}boards/nucleo-l433rc",
        code_cache=KIB,
        cache_source="ST RM0394",
    ),
    KnownBoard(
        "nucleo-l452re",
        "cortex-m4",
        160 * KIB,
        512 * KIB,
        0,
        f"{_RIOT}boards/nucleo-l452re",
        code_cache=KIB,
        cache_source="ST RM0394",
    ),
    KnownBoard(
        "nucleo-l4r5zi",
        "cortex-m4",
        640 * KIB,
        2 * MIB,
        120 * MHZ,
        f"{_RIOT}boards/nucleo-l4r5zi",
        code_cache=KIB,
        cache_source="by its times, docs/cycles.md",
    ),
    KnownBoard("nucleo-l552ze-q", "cortex-m33", 256 * KIB, 512 * KIB, 110 * MHZ, f"{_RIOT}boards/nucleo-l552ze-q"),
    KnownBoard("nucleo-u575zi-q", "cortex-m33", 768 * KIB, 2 * MIB, 160 * MHZ, f"{_RIOT}boards/nucleo-u575zi-q"),
    KnownBoard(
        "numaker-m55m1",
        "cortex-m55",
        1344 * KIB,
        2 * MIB,
        220 * MHZ,
        f"{_ZEPHYR}4.2.0/boards/nuvoton/numaker_m55m1/doc/index.html",
    ),
    KnownBoard(
        "ra8d1-vision-board",
        "cortex-m85",
        MIB,
        2 * MIB,
        480 * MHZ,
        f"{_ZEPHYR}boards/ruiside/ra8d1_vision_board/doc/index.html",
    ),
    KnownBoard(
        "rpi-pico",
        "cortex-m0+",
        264 * KIB,
        2 * MIB,
        133 * MHZ,
        f"{_ZEPHYR}3.7.0/boards/raspberrypi/rpi_pico/doc/index.html",
        weights="xip",
    ),
    KnownBoard(
        "rpi-pico2",
        "cortex-m33",
        520 * KIB,
        4 * MIB,
        150 * MHZ,
        f"{_ZEPHYR}4.1.0/boards/raspberrypi/rpi_pico2/doc/index.html",
        weights="xip",
    ),
    KnownBoard("stm32f746g-disco", "cortex-m7", 340 * KIB, MIB, 0, f"{_RIOT}group__boards__stm32f746g-disco.html"),
    KnownBoard(
        "stm32h747i-disco", "cortex-m7", MIB, 2 * MIB, 0, f"{_ZEPHYR}2.3.0/boards/arm/stm32h747i_disco/doc/index.html"
    ),
)
"""Boards in alphabetical order."""


def known_board(text: str) -> KnownBoard:
    """The board of a name; capitals and underscores count as small letters and dashes.

    Raises:
        ValueError: there is no such board; names those most alike, or all.

    """
    wanted = text.strip().lower().replace("_", "-")
    names = [board.name for board in KNOWN_BOARDS]
    if wanted not in names:
        near = alike(wanted, names)
        rest = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
        raise ValueError(f"board {text!r} is not known; {rest}; for another board give --ram and --flash")
    return KNOWN_BOARDS[names.index(wanted)]
