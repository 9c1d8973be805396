"""The file cannot be read.

The path does not exist, is a folder, cannot be opened, or reading it ends in an error. The exit code is 2; other
files are still linted.

**What to do.** Correct the path or the permissions.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN001",
    name="unreadable-file",
    level=Level.ERROR,
    effect=Effect.INVALID,
    summary="The file cannot be read.",
    docs=__doc__,
    bad=Example(None),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("unreadable",),
)

run = FileCheck("Give the path of a file that can be read.")
