"""A kernel will read or write past a buffer.

The kernel uses more scratch than the size function of the release answers, writes past its output, or reads past its
input. Memory behind is overwritten, or decides values; the inference may still look right.

**What to do.** The message names a way round where one is known. Where only scratch is too small, a runtime that adds
the missing bytes is safe.
"""

from onnxlint_cmsis.checks.execution_checks import HazardCheck
from onnxlint_cmsis.checks.fix_actions import REPAIR
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN303",
    name="overrun",
    level=Level.ERROR,
    effect=Effect.WRONG,
    summary="A kernel will read or write past a buffer.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 3, 6, 6] x) => (float[N, C, H, W] y) <float[3, 4, 3, 3] w = {1}> {
    y = ConvTranspose<strides = [3, 3], pads = [1, 1, 1, 1]>(x, w)
}
""",
        options="--release main",
    ),
    good=Example(
        """
g (float[1, 3, 6, 6] x) => (float[N, C, H, W] y) <float[3, 4, 3, 3] w = {1}> {
    y = ConvTranspose<strides = [3, 3]>(x, w)
}
""",
        options="--release main",
    ),
    kinds=("overrun",),
    action=REPAIR,
)

run = HazardCheck(RULE.kinds)
