"""The file is not an ExecuTorch program.

A file whose name ends in `.pte` is read as a flatbuffer with the identifier `ET12`. This one is empty, truncated, of
another format, or its offsets lead out of the file. The message says what was found. The exit code is 2; other files of
the same run are still linted.

**What to do.** Export or copy the program again.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.facts import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN010",
    name="not-pte",
    level=Level.ERROR,
    effect=Effect.UNKNOWN,
    summary="The file is not an ExecuTorch program.",
    docs=__doc__,
    bad=Example(b"A text, no program.\n", name="model.pte"),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("not-pte",),
)

run = FileCheck("Give an ExecuTorch program, or export it again.")
