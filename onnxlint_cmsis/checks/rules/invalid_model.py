"""The model breaks a rule of ONNX.

`onnx.checker` refuses the model, or it contradicts itself: weights that do not fit their operator, a scale that is
not positive and finite, a value that nothing produces, an impossible dimension. The rest is linted all the same. A
cycle of nodes and a value that is made twice are refused.

**What to do.** The message names the node and what is allowed there.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN004",
    name="invalid-model",
    level=Level.WARNING,
    effect=Effect.INVALID,
    summary="The model breaks a rule of ONNX.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[8, 5, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[8, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("invalid", "oversized"),
)

run = FileCheck("Mend what it names, or export the model again.")
