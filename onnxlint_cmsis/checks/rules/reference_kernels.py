"""The image has the kernels of TensorFlow Lite Micro without CMSIS-NN.

TensorFlow Lite Micro has two files for the kernels of an operator: `kernels/conv.cc`, which computes in plain C++, and
`kernels/cmsis_nn/conv.cc`. A build that takes the first needs 2 to 23 times the instructions on a Cortex-M4, up to 85
on a Cortex-M55. It is sure in an image with symbols. Models inside are judged for reference code.

**What to do.** Build the kernels of CMSIS-NN.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.images.build import LibraryBuild
from onnxlint_cmsis.images.runtime_use import LIBRARY_FUNCTIONS

SHOWN = 4
"""Operators that a message names."""

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
    """Say that no function of CMSIS-NN is there, though operators are that it computes."""
    build = subject.build
    linked = build.registrations if isinstance(build, LibraryBuild) else build.runtime.linked if build.runtime else ()
    slow = [operator for operator in linked if operator in LIBRARY_FUNCTIONS]
    if not build.reference or not slow:
        return
    what = "library" if isinstance(build, LibraryBuild) else "image"
    text = (
        f"The {what} has kernels of TensorFlow Lite Micro for {and_more(slow, SHOWN)} and no function of CMSIS-NN: "
        "reference code computes them, in 2 to 85 times the instructions."
    )
    # the functions of a library may be in another one
    level = Level.NOTE if isinstance(build, LibraryBuild) else None
    yield subject.say(text, f"Link CMSIS-NN: {subject.system.kernels}.", level=level)
