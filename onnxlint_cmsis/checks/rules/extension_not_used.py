"""CMSIS-NN was built without an extension that the core has.

The attributes of an image say for which architecture and extensions it was built; the instructions of CMSIS-NN's
functions say what they use. Without MVE in an image for MVE person_detect takes 3.5 times the instructions, and
hello_world, whose small layers are mostly calls, 1.1 times; without DSP they take 1.3 and 1.1 times. It is sure:
attributes come from other files of the same image.

**What to do.** Compile CMSIS-NN with the -mcpu of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.images.build import LibraryBuild

ORDER = (Isa.SCALAR, Isa.DSP, Isa.MVE)
"""From the fewest instructions to the most."""

RULE = Rule(
    code="CNN708",
    name="extension-not-used",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="CMSIS-NN was built without an extension that the core has.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M55 with CMSIS-NN for a Cortex-M33", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M55", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Compare what the functions use with what the image was built for."""
    build = subject.build
    library = build.library
    if library is None or library.isa is None or build.extension is None or isinstance(build, LibraryBuild):
        return
    if ORDER.index(library.isa) >= ORDER.index(build.extension):
        return
    has, factor = ("MVE", "1.1 to 3.5") if build.extension is Isa.MVE else ("the DSP extension", "1.1 to 1.3")
    core = build.attributes.cpu if build.attributes.cpu.startswith("cortex") else build.attributes.architecture
    text = (
        f"CMSIS-NN does not use {has}, which the image is built for ({core}): its functions have "
        f"{library.counted_instructions}. Models take {factor} times the instructions."
    )
    yield subject.say(text, f"Compile the C files of CMSIS-NN with the -mcpu of the rest, which has {has}.")
