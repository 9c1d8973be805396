"""The verdict on a model on each target: whether it runs there, and is right. Every output says it in these words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from onnxlint_cmsis.ground.findings import Effect, Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target

RUNS = "RUNS"
WORDS: Mapping[Effect, str] = {
    Effect.STOPS: "STOPS",
    Effect.WRONG: "WRONG RESULTS",
    Effect.DOES_NOT_FIT: "DOES NOT FIT",
    Effect.NO_KERNEL: "NO KERNEL",
    Effect.INVALID: "INVALID FILE",
    Effect.MAY_FAIL: "MAY FAIL",
    Effect.UNKNOWN: "UNKNOWN",
    Effect.REFERENCE: "RUNS, partly",
}
"""The word for the worst effect, the worst first; without any of these it RUNS."""
WITHOUT = "RUNS, without CMSIS-NN"
"""The word in place of that for Effect.REFERENCE where no layer is left in CMSIS-NN."""


class TargetVerdict(NamedTuple):
    """The verdict on a model on one target."""

    target: str
    """Label of the target."""
    word: str
    """`RUNS`, WITHOUT, or one of WORDS."""
    layers: tuple[str, ...] = ()
    """Labels of the layers that decide the word, in file order; none for RUNS, and where it is about the whole file."""
    codes: tuple[str, ...] = ()
    """Codes of the rules whose findings decide the word."""
    condition: str = ""
    """Under which it holds: `as int8, once quantized`, `in builds with checks`, or both with `; `; empty for always."""
    every: int = 0
    """Layers that compute something in each run."""
    share: tuple[float, float] | None = None
    """Least and most part of the instructions that reference code runs; None where that is not known."""
    work: float | None = None
    """Part of the model's work that the layers without a kernel do, by multiply-accumulates and elements; None where
    the word is another one, or a size is unknown."""
    instructions: tuple[int, int] | None = None
    """Least and most predicted instructions (not cycles) of the layers whose cost is known; None where none is."""
    unknown_cost: int = 0
    """Layers that the instructions leave out."""
    time: str = ""
    """Range of milliseconds of the layers whose cost is known; empty where no clock is given."""
    milliseconds: tuple[float, float] | None = None
    """The same as numbers; None where nothing is predicted."""
    arena: int | None = None
    """Bytes to give for activations; None where a size is unknown."""
    arena_exact: bool = False
    """Whether that is to the byte; otherwise it takes at least as many."""
    arena_to_write: int | None = None
    """Bytes to declare for the arena, with the runtime's alignment; None where a size is unknown."""
    flash: int | None = None
    """Bytes that lie in flash beside code: constants, or a file that is read on the device; None if not analysed."""
    ram: int | None = None
    """Bytes of RAM that the model needs of a device; None where none is named, or a size is unknown."""
    ram_room: int | None = None
    """Bytes of RAM that are there; None where nothing is claimed about it."""
    flash_room: int | None = None
    """Bytes of flash that are there; None likewise."""
    fits: bool | None = None
    """Whether it fits what is there; None where nothing is claimed, or the figures are lower bounds."""
    accepted: int = 0
    """Findings that suppressions and a baseline accept in the file."""


def not_analysed(targets: Iterable[Target], findings: Sequence[Finding]) -> tuple[TargetVerdict, ...]:
    """The verdicts on a file of which nothing is known."""
    codes = tuple(dict.fromkeys(finding.selector for finding in findings))
    effects = [finding.effect for finding in findings if finding.effect in WORDS]
    word = WORDS[min(effects, key=lambda effect: effect.rank, default=Effect.UNKNOWN)]
    return tuple(TargetVerdict(target.label, word, codes=codes) for target in targets)
