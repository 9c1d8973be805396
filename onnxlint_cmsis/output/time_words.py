"""The words for what takes a predicted time."""

from __future__ import annotations

from onnxlint_cmsis.timing.memories import fastest
from onnxlint_cmsis.timing.predicted_time import PredictedTime, shown_milliseconds

WORDS = {
    "kernels": "CMSIS-NN",
    "weights": "reading weights",
    "activations": "reading and writing activations",
    "conversions": "copies and conversions",
    "reference": "reference code",
    "runtime": "the runtime",
}
"""What each part of a time is."""
SEEN = 0.005
"""Part of the time below which nothing is said."""
WORTH = 0.05
"""Part of the time from which another memory is named."""


def shares_text(time: PredictedTime) -> str:
    """`63 % CMSIS-NN, 31 % reading weights from mram, 6 % the runtime`; empty where the parts are not known."""
    if time.parts is None:
        return ""
    (weights, arena), *_ = time.memories or (("", ""),)
    memories = {"weights": _memory(" from", weights), "activations": _memory(" in", arena)}
    shares = time.parts.shares
    told = sorted((name for name in WORDS if shares[name] >= SEEN), key=lambda name: -shares[name])
    return ", ".join(f"{100 * shares[name]:.0f} % {WORDS[name]}{memories.get(name, '')}" for name in told)


def saving_text(time: PredictedTime, cpu: str) -> str:
    """`--weights-in tcm would save about 16 ms`; empty where memory takes little time or where it is not known."""
    parts = time.parts
    if parts is None:
        return ""
    settings = {"weights": "--weights-in", "activations": "--arena-in"}
    worth = {name: getattr(parts, name) for name in settings if parts.shares[name] >= WORTH}
    return ", ".join(
        f"{settings[name]} {fastest(cpu)} would save about {shown_milliseconds(cycles, time.clock)}"
        for name, cycles in worth.items()
    )


def _memory(word: str, name: str) -> str:
    """` from mram`; empty for a memory that only its cycles name."""
    return f"{word} {name}" if name and not name.isdecimal() else ""
