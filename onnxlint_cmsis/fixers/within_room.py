"""Whether a fixed model still fits the RAM and flash that were named."""

from __future__ import annotations

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.fit import device_fits


def outgrown(old: ModelAnalysis, new: ModelAnalysis, *, fitted: bool = False) -> str:
    """How much a model needs that grew over what is there, as a clause; empty where it did not.

    `fitted` asks about what had room before alone.
    """
    for had, has in zip(device_fits(old), device_fits(new), strict=True):
        pairs = (("RAM", had.ram, has.ram, has.flash.room.ram), ("flash", had.flash, has.flash, has.flash.room.flash))
        for memory, before, after, room in pairs:
            if before is None or after is None or after.fits or (fitted and not before.fits):
                continue
            if after.bytes > before.bytes:
                return f"{after.bytes:,} bytes of {memory} on {after.target}, where {room or 0:,} are there"
    return ""
