"""The model needs more RAM than the device has.

The rule runs where `--ram` or `--board` is given. Of an ONNX model it counts the arena of the firmware check's plan
and the largest scratch buffer. Of a `.tflite` file it counts the arena of TensorFlow Lite Micro: the larger of
`arena_used_bytes()` and what AllocateTensors needs while it plans, rounded up to a multiple of 16, which is the size
to write. Stack, variables and the application come on top.

The finding names the layer at which most bytes are alive, and what `--fix` reaches with the same outputs: without
channels that do nothing, and for a `.tflite` file with layers in groups of channels or in bands, joined by a
CONCATENATION, and a memory plan. Where that does not fit, it names one change that was tried: another order of
layers, a layer that writes over its input, or fewer channels in the layers that decide the widest tensors there.
Those of a Concat are decided by the layers in front of it.

**What to do.** `--fix` with the same `--ram` or `--board` writes what computes the same and fits. Else make the change,
or the input smaller. Of an ONNX model, convert the float model to an int8 `.tflite` file and fix that
([why](../fitting.md#what-of-an-onnx-file)). `onnxlint-cmsis memory` prints the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.memory_needs import RamNeed, listed
from onnxlint_cmsis.checks.exact_fit import CONVERT, exact_facts, exact_remedy, exact_text, fits_exactly
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

_MODEL = """
g (float[1, 4, 32, 32] x) => (float[N, C, H, W] y)
<float[16, 4, 3, 3] v = {1}, float[4, 16, 3, 3] w = {1}> {
    a = Conv<pads = [1, 1, 1, 1]>(x, v)
    y = Conv<pads = [1, 1, 1, 1]>(a, w)
}
"""

RULE = Rule(
    code="CNN601",
    name="does-not-fit-ram",
    level=Level.ERROR,
    effect=Effect.DOES_NOT_FIT,
    summary="The model needs more RAM than the device has.",
    docs=__doc__,
    bad=Example(_MODEL, options="--ram 16K"),
    good=Example(_MODEL, options="--ram 64K"),
)


def run(need: RamNeed) -> Iterator[Statement]:
    """Say that a model does not fit, and why."""
    if need.fits or need.room.ram is None:
        return
    there = f"{need.room.ram:,} are there" + (f" ({need.room.board})" if need.room.board else "")
    over = need.bytes - need.room.ram
    sentences = [
        f"The model needs {need.bytes:,} bytes of RAM ({listed(need.parts)}) and {there}: {over:,} too few.",
        f"Most are alive in {need.layer}: {listed(need.alive)}; scratch adds {need.scratch:,}." if need.alive else "",
        *_changes(need),
        need.beside,
    ]
    facts: dict[str, str | int | float | bool] = {"needed": need.bytes, "room": need.room.ram, "scratch": need.scratch}
    if need.remedy:
        facts |= {"remedy": need.remedy.text, "after": need.remedy.bytes}
    facts |= exact_facts(need.exact)
    text = " ".join(filter(None, sentences))
    remedy = exact_remedy(need.exact, need.room.ram)
    if need.converted and not remedy:
        remedy = f"Make the model smaller, take a larger device, or {CONVERT}."
    yield Statement(text, need.location, (need.target,), properties=facts, remedy=remedy)


def _changes(need: RamNeed) -> Iterator[str]:
    """What `--fix` reaches, and where that does not fit the change that helps most."""
    yield exact_text(need.exact, need.room.ram)
    if not fits_exactly(need.exact, need.room.ram):
        yield _change(need)


def _change(need: RamNeed) -> str:
    """The change that helps most, whatever it costs."""
    if need.remedy is None or need.room.ram is None:
        return "No change of order, of buffers or of one tensor's channels was found that helps."
    fits = "fits" if need.remedy.bytes <= need.room.ram else "still does not fit"
    return f"With {need.remedy.text} it needs {need.remedy.bytes:,} and {fits}."
