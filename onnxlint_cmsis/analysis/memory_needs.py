"""What a model needs of a device's RAM and flash, as plain data for the rules that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.ram_remedies import RamRemedy
    from onnxlint_cmsis.ground.findings import Location
    from onnxlint_cmsis.ground.types import MemoryRoom


class ExactWay(NamedTuple):
    """What `--fix` reaches without changing an output."""

    bytes: int
    """Bytes of RAM or flash that the model would need."""
    text: str
    """What it takes, as a clause behind `with`."""
    percent: float
    """Change of the predicted instructions; negative is fewer."""
    registers: tuple[str, ...]
    """What the application has to register besides: `AddConcatenation()`."""


class RamNeed(NamedTuple):
    """Bytes of RAM on one target."""

    target: str
    """Label of the target."""
    room: MemoryRoom
    """What the device has."""
    bytes: int
    """Bytes that the model needs."""
    parts: tuple[tuple[str, int], ...]
    """What they are, with bytes."""
    layer: str
    """Operator and name of the layer at the peak."""
    alive: tuple[tuple[str, int], ...]
    """Tensors alive there, the largest first, with bytes."""
    scratch: int
    """Bytes of scratch there."""
    remedy: RamRemedy | None
    """The largest change that would help; None where none is known, or it fits."""
    location: Location
    """Place of the layer at the peak."""
    beside: str
    """What comes on top, as a sentence."""
    least: bool = False
    """Whether that is a lower bound."""
    exact: ExactWay | None = None
    """The least that was found without changing an output; None where nothing was looked for, or found."""
    converted: bool = False
    """Whether a converter may write a `.tflite` file of the model, which a fix makes smaller in more ways."""

    @property
    def fits(self) -> bool:
        """Tell whether there is room, or none was asked about."""
        return self.room.ram is None or self.bytes <= self.room.ram


class FlashNeed(NamedTuple):
    """Bytes of flash on one target."""

    target: str
    """Label of the target."""
    room: MemoryRoom
    """What the device has."""
    bytes: int
    """Bytes that the model needs."""
    parts: tuple[tuple[str, int], ...]
    """What they are, with bytes."""
    largest: tuple[tuple[str, int], ...]
    """The layers with the most constants, with bytes."""
    location: Location
    """Place of the largest."""
    beside: str
    """What comes on top, as a sentence."""
    least: bool = False
    """Whether that is a lower bound."""
    exact: ExactWay | None = None
    """The least that was found without changing an output; None where nothing was looked for, or found."""

    @property
    def fits(self) -> bool:
        """Tell whether there is room, or none was asked about."""
        return self.room.flash is None or self.bytes <= self.room.flash


UNKNOWN_RAM = "Whether the model fits RAM is not known: a size is unknown."


class DeviceFit(NamedTuple):
    """A model against a device, on one target."""

    ram: RamNeed | None
    """None where it is not known."""
    flash: FlashNeed
    """Constants as far as sizes are known."""
    unknown: str
    """Why the RAM that was named may or may not do, as a sentence; empty where it is known or none was named."""

    @property
    def fits(self) -> bool | None:
        """Tell whether there is room for all that was asked about; None where a figure is unknown or a lower bound."""
        room = self.flash.room
        asked = [need for need, size in ((self.ram, room.ram), (self.flash, room.flash)) if size is not None]
        if not all(need is None or need.fits for need in asked):
            return False
        return None if any(need is None or need.least for need in asked) else True


def listed(parts: tuple[tuple[str, int], ...], shown: int = 4) -> str:
    """`a 1,024, b 16 and 3 more`."""
    return and_more([f"{name} {size:,}" for name, size in parts], shown)


def fit_note(ram: RamNeed | None, flash: FlashNeed | None) -> str:
    """How much of what is there a model needs, for one target; empty where that was not asked for."""
    halves = []
    if ram is not None and ram.room.ram is not None:
        halves.append(f"{ram.bytes:,} bytes of RAM ({ram.room.ram:,} are there)")
    if flash is not None and flash.room.flash is not None:
        halves.append(f"{flash.bytes:,} bytes of flash ({flash.room.flash:,} are there)")
    need = ram or flash
    return f"{need.target}: the model needs {' and '.join(halves)}." if need and halves else ""
