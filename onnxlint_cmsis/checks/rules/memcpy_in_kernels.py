"""Inner loops of CMSIS-NN call memcpy for every four bytes.

CMSIS-NN reads four bytes with memcpy, which a compiler makes one instruction of. With -fno-builtin or -ffreestanding
it has to call the function: on a Cortex-M4 by gcc person_detect takes 3 times the instructions, and hello_world 1.7
times. It is sure, from two calls on in one function. A Cortex-M0, M0+ or M23 reads no unaligned words: there calls are
meant, and predicted.

**What to do.** Compile CMSIS-NN without -fno-builtin and -ffreestanding.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more

RULE = Rule(
    code="CNN705",
    name="memcpy-in-kernels",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="Inner loops of CMSIS-NN call memcpy for every four bytes.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 with CMSIS-NN by -fno-builtin", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Name the functions with most calls."""
    library = subject.build.library
    if library is None or not library.copying or not subject.build.attributes.reads_unaligned:
        return
    told = and_more([f"{name} ({count})" for name, count in library.copying])
    text = f"CMSIS-NN calls memcpy for every four bytes, in {told}. Models take 1.7 to 3 times the instructions."
    facts = {"function": library.copying[0][0]}
    yield subject.say(text, "Compile its C files without -fno-builtin and -ffreestanding.", properties=facts)
