"""Memory, conversions or the runtime take a quarter of the predicted time or more.

The rule runs where the time is predicted (`--clock` or `--board`). Of memory it speaks where `--weights-in` and
`--arena-in`, the board, or a measurement say what a line costs. Dense layers use each weight once, so that such nets
wait for their memory: from QSPI flash they take ten times as long as from SRAM.

**What to do.** Put the weights, or those of the largest dense layers, into a faster memory, with the linker script or
by copying them at start; the same goes for the arena. Fewer weights help as well. Copies and conversions go where
neighbouring layers have one data type and one memory order. The runtime takes as long for a small operator as for a
large one: fewer operators take less.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Location, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.timing.memories import UNKNOWN, fastest

if TYPE_CHECKING:
    from onnxlint_cmsis.timing.predicted_time import PredictedTime

_MODEL = """
g (float[1, 640] x) => (float[N, M] y) <float[640, 128] w = {1}> {
    y = MatMul(x, w)
}
"""

RULE = Rule(
    code="CNN606",
    name="time-beside-kernels",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="Memory, conversions or the runtime take a quarter of the predicted time or more.",
    docs=__doc__,
    bad=Example(_MODEL, options="--target cortex-m55 --clock 250MHz --weights-in mram"),
    good=Example(_MODEL, options="--target cortex-m55 --clock 250MHz --weights-in tcm"),
)
SHARE = 0.25
"""Part of the time from which it is worth a word."""


class _Part(NamedTuple):
    """One part of a time."""

    name: str
    """Field of Parts."""
    takes: str
    """What takes the time; {} stands for the memory."""
    remedy: str
    """What to do; {} stands for a faster memory and the time that it saves."""
    memory: int | None = None
    """Place of its memory among those of weights and arena."""


PARTS = (
    _Part(
        "weights",
        "Reading weights from {} takes",
        "Put the weights into a faster memory: --weights-in {} would save about {}.",
        0,
    ),
    _Part(
        "activations",
        "Reading and writing activations in {} takes",
        "Put the arena into a faster memory: --arena-in {} would save about {}.",
        1,
    ),
    _Part(
        "conversions",
        "Copies and conversions take",
        "Let neighbouring layers have one data type and one memory order, so that nothing converts between them.",
    ),
    _Part(
        "runtime",
        "What the runtime does for each operator takes",
        "Fewer operators take less: the runtime takes as long for a small one as for a large one.",
    ),
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each part and target."""
    settings = subject.model.settings
    if not any(settings.clocks):
        return
    from onnxlint_cmsis.analysis.coverage import summarize

    memories = dict(zip((target.label for target in settings.targets), settings.memories, strict=False))
    for target in subject.model.once(summarize).targets:
        time = target.time
        for part in PARTS if time and time.milliseconds else ():
            memory = "" if part.memory is None else memories.get(target.target, (UNKNOWN, UNKNOWN))[part.memory]
            if time and (memory != UNKNOWN or time.calibrated):
                yield from _statement(part, time, memory, target.target, subject.model.path)


def _statement(part: _Part, time: PredictedTime, memory: str, target: str, path: str) -> Iterator[Statement]:
    """Say what a part takes where it takes much in every pair of memories that the time covers."""
    parts = min((here.parts for here in time.placed), key=lambda parts: parts.shares[part.name])
    waits, whole = (1000 * cycles / time.clock for cycles in (getattr(parts, part.name), sum(parts)))
    if waits < SHARE * whole:
        return
    where = "their memory" if memory == UNKNOWN else memory
    where = f"a memory of {memory} cycles a line" if memory.isdecimal() else where
    takes = f"about {100 * waits / whole:.0f} % of the predicted time: {waits:,.3g} of {whole:,.3g} ms."
    yield Statement(
        f"{part.takes.format(where)} {takes}",
        Location(path),
        (target,),
        properties={"part": part.name, "milliseconds": round(waits, 4), "share": parts.shares[part.name]},
        remedy=part.remedy.format(fastest(cpu_of(target)), f"{waits:,.3g} ms"),
    )
