"""The image has the kernels of TensorFlow Lite Micro without CMSIS-NN.

TensorFlow Lite Micro has two files for the kernels of an operator: `kernels/conv.cc`, which computes in plain C++, and
`kernels/cmsis_nn/conv.cc`. A build that takes the first needs 2 to 23 times the instructions on a Cortex-M4, up to 85
on a Cortex-M55. It is sure in an image with symbols, for each operator. After link-time optimization (-flto) it is sure
by functions that reference kernels alone register, such as `tflite::ConvPrepare`. Without symbols the names of sources
in texts tell it, and the finding says `may`. Where it is sure, models in the image are judged for reference code. Where
an image does not tell, a note at the model says that its costs are those of CMSIS-NN.

**What to do.** Build the kernels of CMSIS-NN.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Isa, Level
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.images.build import Build, LibraryBuild

MOST, MOST_WITH_MVE = 23, 85
"""Times the instructions that reference code takes at most, on a Cortex-M4 and on a Cortex-M55."""

RULE = Rule(
    code="CNN702",
    name="reference-kernels",
    level=Level.WARNING,
    effect=Effect.REFERENCE,
    summary="The image has the kernels of TensorFlow Lite Micro without CMSIS-NN.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 without CMSIS-NN", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Name the operators whose kernels call no CMSIS-NN; without symbols say what texts tell."""
    build, remedy = subject.build, f"Link CMSIS-NN: {subject.system.kernels}."
    slow = and_more(build.reference_operators, 4)
    what = "library" if isinstance(build, LibraryBuild) else "image"
    times = f"2 to {MOST_WITH_MVE if build.extension in (Isa.MVE, None) else MOST} times the instructions"
    runtime = build.runtime if isinstance(build, Build) else None
    if slow and build.library:
        text = (
            f"The image has CMSIS-NN, and no function of it for {slow}: reference code or kernels of another library "
            f"compute them. Reference code takes {times}."
        )
        yield subject.say(text, remedy)
    elif slow:
        text = (
            f"The {what} has kernels of TensorFlow Lite Micro for {slow} and no function of CMSIS-NN: "
            f"reference code computes them, in {times}."
        )
        # the functions of a library may be in another one
        yield subject.say(text, remedy, level=Level.NOTE if what == "library" else None)
    elif runtime and not build.library and runtime.kernels == "reference":
        text = (
            f"The image may have reference code in place of CMSIS-NN, in {times}: texts in it "
            f"name {runtime.kernel_file}, and no file of kernels/cmsis_nn."
        )
        yield subject.say(text, f"{remedy} An ELF with symbols tells it for sure.")
