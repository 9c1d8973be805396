"""Files of the image have different structures of TensorFlow Lite Micro.

TfLiteTensor has fewer members where TF_LITE_STATIC_MEMORY is defined. A file that is compiled without it reads members
at other places than those at which the interpreter wrote them. It is sure by debugging information (-g), which has the
size of the structure in each file.

**What to do.** Define TF_LITE_STATIC_MEMORY for every C++ file, those of the application too.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.images.build import LibraryBuild

RULE = Rule(
    code="CNN706",
    name="structures-differ",
    level=Level.ERROR,
    effect=Effect.WRONG,
    summary="Files of the image have different structures of TensorFlow Lite Micro.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 with TfLiteTensor of 64 bytes in main.cc", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4 with TfLiteTensor of 32 bytes in all files", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Compare the sizes of the structure in all files."""
    build = subject.build
    if isinstance(build, LibraryBuild) or not build.tensor_sizes:
        return
    told = [f"{size} bytes in {and_more(files)}" for size, files in build.tensor_sizes.items()]
    text = f"TfLiteTensor has {and_more(told)}: what one file writes the other reads elsewhere."
    yield subject.say(text, "Define TF_LITE_STATIC_MEMORY for every file (-DTF_LITE_STATIC_MEMORY).")
