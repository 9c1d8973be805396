"""External data is missing, short or outside the model's folder.

A tensor keeps its bytes in another file. It must lie below the model's folder (no absolute path, `..`, symbolic link
out of it, nor a file named like a model) and hold as many bytes as the tensor claims. The graph is linted all the
same; what depends on values that are not read stays open.

**What to do.** Commit the data file beside the model, or store the weights inside it.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN006",
    name="external-data",
    level=Level.ERROR,
    effect=Effect.INVALID,
    summary="External data is missing, short or outside the model's folder.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = ["location": "weights.bin"]> {
    y = Conv(x, w)
}
"""),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = ["location": "weights.bin"]> {
    y = Conv(x, w)
}
""",
        files={"weights.bin": "0000000000000000000000000000000000000000000000000000000000000000"},
    ),
    kinds=("external",),
)

run = FileCheck("Put the file with the data beside the model.")
