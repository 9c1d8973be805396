"""The arena is too small for the model, or far too large.

The size of the object that is called arena is sure; that it is the arena of this model is what its name says, so the
finding says `may`. Of several objects it is the one whose name has a word of the model's, else the largest that is
called a tensor arena, else the largest of all; a note says which was taken. The bytes that a model needs are those of
`onnxlint-cmsis memory`, to the byte for TensorFlow Lite Micro. AllocateTensors returns an error where the arena is
smaller. A note says where more than half of it may be spare.

**What to do.** Declare the size that the message names, with alignas(16).
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import Deployment
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.images.model_arena import arena_of

ALIGNMENT = 16
"""Bytes that TensorFlow Lite Micro aligns the arena to."""
SPARE = 1024
"""Spare bytes that no note is made of."""

RULE = Rule(
    code="CNN703",
    name="arena-size",
    level=Level.WARNING,
    effect=Effect.MAY_FAIL,
    summary="The arena is too small for the model, or far too large.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 with an arena of 256 bytes", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(deployment: Deployment) -> Iterator[Statement]:
    """Compare the object that is taken for the model's arena with what the model needs on any target."""
    taken = arena_of(deployment.build, deployment.inside)
    reports = [deployment.model.execution.memory(target) for target in deployment.model.settings.targets]
    needs = [report.arena for report in reports if report.arena]
    if taken is None or not needs or not deployment.model.execution.reads_file:
        return
    arena, need = taken.arena, max(needs, key=lambda need: need.needed)
    named = f"{arena.name}, the largest of {taken.of}," if taken.of > 1 else arena.name
    named = f"{named}, which has {taken.word!r} in its name like the model," if taken.word else named
    lost = (ALIGNMENT - arena.address % ALIGNMENT) % ALIGNMENT
    if arena.size - lost < need.needed:
        text = (
            f"The arena may be too small: {named} has {arena.size:,} bytes, the model needs {need.needed:,}. "
            "AllocateTensors then returns an error."
        )
        yield deployment.say(text, f"Declare {need.to_write:,} bytes with alignas({ALIGNMENT}).")
    elif arena.size > 2 * need.to_write + SPARE and len(deployment.build.models) == 1:
        text = f"{named} has {arena.size:,} bytes, the model needs {need.to_write:,}: more than half may be spare."
        yield deployment.say(text, f"Declare {need.to_write:,} bytes.", level=Level.NOTE, effect=Effect.NOTE)
