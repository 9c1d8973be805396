"""The model's constants need more flash than the device has.

The rule runs where `--flash` or `--board` is given. Of an ONNX model it counts weights, biases, multipliers and
shifts as CMSIS-NN reads them, of a float model those of the s8 layers that it will become; of a `.tflite` or
`.pte` file the whole file. Code comes on top.

The finding says what `--fix` reaches with the same outputs, by taking out channels that do nothing.

**What to do.** `--fix` where that fits. Else make the layers that the finding names smaller.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.memory_needs import FlashNeed, listed
from onnxlint_cmsis.checks.exact_fit import exact_facts, exact_remedy, exact_text
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import NAMED

_MODEL = """
g (float[1, 64, 8, 8] x) => (float[N, C, H, W] y) <float[64, 64, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""

RULE = Rule(
    code="CNN602",
    name="does-not-fit-flash",
    level=Level.ERROR,
    effect=Effect.DOES_NOT_FIT,
    summary="The model's constants need more flash than the device has.",
    docs=__doc__,
    bad=Example(_MODEL, options="--flash 32K"),
    good=Example(_MODEL, options="--flash 64K"),
)


def run(need: FlashNeed) -> Iterator[Statement]:
    """Say that constants do not fit, and what they are."""
    if need.fits or need.room.flash is None:
        return
    there = f"{need.room.flash:,} are there" + (f" ({need.room.board})" if need.room.board else "")
    parts = tuple(part for part in need.parts if part[1])
    sentences = [
        f"The model needs {need.bytes:,} bytes of flash ({listed(parts)}) and {there}: "
        f"{need.bytes - need.room.flash:,} too few.",
        f"The largest constants are those of {listed(need.largest, NAMED)}." if need.largest else "",
        exact_text(need.exact, need.room.flash),
        need.beside,
    ]
    text = " ".join(filter(None, sentences))
    facts = {"needed": need.bytes, "room": need.room.flash, **exact_facts(need.exact)}
    remedy = exact_remedy(need.exact, need.room.flash)
    yield Statement(text, need.location, (need.target,), properties=facts, remedy=remedy)
