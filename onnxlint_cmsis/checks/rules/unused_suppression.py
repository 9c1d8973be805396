"""A suppression matches no finding.

An entry of `suppress`, or an `onnxlint-cmsis:ignore` key in the model, names a rule that reported nothing there.

**What to do.** Remove it, so that it cannot hide a later finding.
"""

from onnxlint_cmsis.checks.file_problem import FileCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN090",
    name="unused-suppression",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="A suppression matches no finding.",
    docs=__doc__,
    asks=True,
    bad=Example("""
<ir_version: 10, opset_import: ["" : 13], metadata_props: ["onnxlint-cmsis:ignore": "conv-1x1 known"]>
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    good=Example("""
<ir_version: 10, opset_import: ["" : 13], metadata_props: ["onnxlint-cmsis:ignore": "conv-1x1 known"]>
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""),
    kinds=("unused-suppression",),
)

run = FileCheck("Take the suppression out.")
