"""Reading weights from their memory takes a quarter of the predicted time or more.

The rule runs where the time is predicted (`--clock` or `--board`) and `--weights-in` or the board says where the
weights lie. Dense layers use each weight once, so that such nets wait for their memory: from QSPI flash they take ten
times as long as from SRAM.

**What to do.** Put the weights, or those of the largest dense layers, into a faster memory, with the linker script or
by copying them at start. Fewer weights help as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.ground.findings import Effect, Location, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.timing.memories import UNKNOWN, fastest

_MODEL = """
g (float[1, 640] x) => (float[N, M] y) <float[640, 128] w = {1}> {
    y = MatMul(x, w)
}
"""

RULE = Rule(
    code="CNN606",
    name="slow-weights",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="Reading weights from their memory takes a quarter of the predicted time or more.",
    docs=__doc__,
    bad=Example(_MODEL, options="--target cortex-m55 --clock 250MHz --weights-in mram"),
    good=Example(_MODEL, options="--target cortex-m55 --clock 250MHz --weights-in tcm"),
)
SHARE = 0.25
"""Part of the time from which the memory is worth a word."""


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each target whose time is that of its memory."""
    settings = subject.model.settings
    if not any(settings.clocks):
        return
    memories = dict(zip((target.label for target in settings.targets), settings.memories, strict=False))
    for target in summarize(subject.model).targets:
        weights = memories.get(target.target, (UNKNOWN, ""))[0]
        time = target.time
        if time is None or time.milliseconds is None or (weights == UNKNOWN and not time.calibrated):
            continue
        parts = max((here.parts for here in time.placed), key=lambda parts: parts.shares["weights"])
        waits, whole = (1000 * cycles / time.clock for cycles in (parts.weights, sum(parts)))
        if waits < SHARE * whole:
            continue
        where = f"a memory of {weights} cycles a line" if weights.isdecimal() else weights
        where = "their memory" if weights == UNKNOWN else where
        text = (
            f"Reading weights from {where} takes about {100 * waits / whole:.0f} % of the predicted time: "
            f"{waits:,.3g} of {whole:,.3g} ms."
        )
        numbers: dict[str, str | int | float | bool] = {
            "milliseconds": round(waits, 4),
            "share": parts.shares["weights"],
        }
        saved = f"--weights-in {fastest(cpu_of(target.target))} would save about {waits:,.3g} ms"
        remedy = f"Put the weights into a faster memory: {saved}."
        yield Statement(text, Location(subject.model.path), (target.target,), properties=numbers, remedy=remedy)
