"""A dimension does not fit the kernel's variables.

Some kernels keep sizes in 16-bit variables, cut a larger size off and compute something else; the finding says where
this concerns only the last of an odd number of output pixels. Most depthwise kernels keep the start of a window in a
signed 16-bit variable, which ends at 32,767.

**What to do.** Split the layer, or make the named size smaller.
"""

from onnxlint_cmsis.checks.execution_checks import HazardCheck
from onnxlint_cmsis.checks.fix_actions import REPAIR
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN304",
    name="too-large",
    level=Level.ERROR,
    effect=Effect.WRONG,
    summary="A dimension does not fit the kernel's variables.",
    docs=__doc__,
    bad=Example("""
g (float[1, 8001, 7, 7] x) => (float[N, C, H, W] y) <float[4, 8001, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""),
    good=Example("""
g (float[1, 80, 7, 7] x) => (float[N, C, H, W] y) <float[4, 80, 3, 3] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""),
    kinds=("too-large",),
    action=REPAIR,
)

run = HazardCheck(RULE.kinds)
