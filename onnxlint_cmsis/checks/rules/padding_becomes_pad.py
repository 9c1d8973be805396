"""Padding that TensorFlow Lite cannot express becomes an operator.

TensorFlow Lite knows two paddings: SAME, which follows from the sizes, and VALID, which is none. Other
padding becomes a PAD in front of a layer with VALID: a copy of the input, and a layer without padding. The linter
judges that layer.

**What to do.** Where the copy matters: padding as SAME gives it (as much at the end as at the beginning, or one more).
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import report_remark
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN411",
    name="padding-becomes-pad",
    level=Level.NOTE,
    effect=Effect.NOTE,
    summary="Padding that TensorFlow Lite cannot express becomes an operator.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 3, 3] w = {1}> {
    y = Conv<pads = [2, 2, 0, 0]>(x, w)
}
""",
        options="--runtime tflm",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
""",
        options="--runtime tflm",
    ),
    kinds=("runtime-padding",),
)

run = report_remark
