"""The application registers operators that no model has.

A registered operator brings its kernels into flash. The rule compares the operators that the image registers with those
of the models in the image; it says nothing of an image without a model.

**What to do.** Leave their Add calls out, where no other model will be loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.images.build import LibraryBuild
from onnxlint_cmsis.runtimes.tflm.resolver import method_of

RULE = Rule(
    code="CNN711",
    name="unused-operators",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="The application registers operators that no model has.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 that registers SOFTMAX too", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Name what is registered and not used."""
    build = subject.build
    if isinstance(build, LibraryBuild) or build.runtime is None or not build.models or subject.used is None:
        return
    unused = [operator for operator in build.runtime.registered or () if method_of(operator) not in subject.used]
    if not unused:
        return
    names = and_more(unused, 5)
    yield subject.say(
        f"The application registers {names}, which no model here has: their kernels take flash.",
        "Leave their Add calls out, where no other model is loaded.",
        properties={"operators": ", ".join(unused)},
    )
