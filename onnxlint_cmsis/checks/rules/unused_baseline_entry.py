"""A baseline entry matches no finding.

What it lists was mended, or the layer was renamed.

**What to do.** Write the baseline again with `--write-baseline`.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN091",
    name="unused-baseline-entry",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="A baseline entry matches no finding.",
    docs=__doc__,
    asks=True,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--baseline baseline.json",
        files={"baseline.json": '{"version": 1, "files": {"gone.onnx": {}}}'},
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--baseline baseline.json",
        files={"baseline.json": '{"version": 1, "files": {}}'},
    ),
    kinds=("unused-baseline-entry",),
)

run = FileCheck("Write the baseline again (--write-baseline).")
