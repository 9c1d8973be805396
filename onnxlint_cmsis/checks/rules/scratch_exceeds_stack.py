"""A layer's scratch buffer is larger than the stack that is left for it.

The rule runs where the setting `stack` is given (`--config stack=2K`) and the application calls CMSIS-NN itself:
runtimes put scratch into their arena.

**What to do.** Put one buffer for all layers into static memory, as large as the largest layer needs (`onnxlint-cmsis
layers` has the bytes).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

_MODEL = """
g (float[1, 64, 8, 8] x) => (float[N, C, H, W] y) <float[64, 64, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""

RULE = Rule(
    code="CNN603",
    name="scratch-exceeds-stack",
    level=Level.WARNING,
    effect=Effect.DOES_NOT_FIT,
    summary="A layer's scratch buffer is larger than the stack that is left for it.",
    docs=__doc__,
    bad=Example(_MODEL, options="--target cortex-m4 --config stack=1K"),
    good=Example(_MODEL, options="--target cortex-m4 --config stack=8K"),
)


def run(subject: Subject) -> Iterator[Statement]:
    """Yield one statement for a layer whose buffer does not fit; none where a runtime has the buffer."""
    settings, taken = subject.model.settings, subject.route
    needed = taken.scratch
    rooms = dict(zip(settings.targets, settings.rooms, strict=False))
    stack = rooms[subject.target].stack if subject.target in rooms else None
    if subject.model.execution.by_runtime or stack is None or needed <= stack:
        return
    text = f"{taken.effective} takes {needed:,} bytes of scratch; the stack has {stack:,} for it."
    said = replace(subject.say(text), properties={"needed": needed, "room": stack}, group="scratch")
    yield replace(said, remedy="Put the buffer into static memory.")
