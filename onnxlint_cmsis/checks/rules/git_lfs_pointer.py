"""The file is a Git LFS pointer, not the model.

Git LFS keeps a text file in place of the model, which begins with `version https://git-lfs.github.com/spec/v1`. The
exit code is 2.

**What to do.** `git lfs pull`; in GitHub Actions `actions/checkout` with `lfs: true`.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN003",
    name="git-lfs-pointer",
    level=Level.ERROR,
    effect=Effect.INVALID,
    summary="The file is a Git LFS pointer, not the model.",
    docs=__doc__,
    bad=Example(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("lfs-pointer",),
)

run = FileCheck("In GitHub Actions: actions/checkout with `lfs: true`.")
