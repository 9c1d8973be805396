"""The model in the image is not aligned, or lies in RAM.

TensorFlow Lite Micro reads words of the model where they lie. At an address that is no multiple of 4 a Cortex-M ends in
a HardFault, by the instructions that the compiler chose. A model that is not `const` is copied into RAM before main and
takes as many bytes there; it is a warning, as some do so on purpose. Both are sure in an ELF.

**What to do.** `alignas(16) const unsigned char g_model[] = {...};`
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import Deployment
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

WORD = 4
"""Bytes that a model has to be aligned to at least."""
DECLARE = "Declare it alignas(16) const."

RULE = Rule(
    code="CNN707",
    name="model-placement",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The model in the image is not aligned, or lies in RAM.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 with its model at an odd address", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(deployment: Deployment) -> Iterator[Statement]:
    """Look at the address of the model and at its section."""
    inside, image = deployment.inside, deployment.build.image
    if inside is None or not image.addressed:
        return
    if inside.address % WORD:
        address = f"0x{inside.address:08x}, which is no multiple of {WORD}"
        text = f"The model lies at {address}: reading it ends in a HardFault."
        yield deployment.say(text, DECLARE)
    if inside.writable:
        text = (
            f"The model is not const: its {len(inside.data):,} bytes are copied to RAM ({inside.section}) before main, "
            "and lie in flash too."
        )
        yield deployment.say(text, DECLARE, level=Level.WARNING, effect=Effect.COSTS)
