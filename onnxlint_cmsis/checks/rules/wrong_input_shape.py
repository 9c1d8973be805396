"""A given input shape does not fit the model.

`--input-shape` or `input-shapes` names an input that the model does not have, or another rank or size than the model
fixes. The exit code is 2.

**What to do.** The message lists the inputs with their sizes.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN008",
    name="wrong-input-shape",
    level=Level.ERROR,
    effect=Effect.UNKNOWN,
    summary="A given input shape does not fit the model.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--input-shape x=1,4,8",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--input-shape x=1,4,8,8",
    ),
    kinds=("input-shape",),
)

run = FileCheck("Give as many sizes as the input has, and those that it has.")
