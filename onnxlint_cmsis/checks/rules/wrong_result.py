"""A kernel will return wrong values with status SUCCESS.

Nothing at run time tells you. The message gives the sizes that matter and what they would have to be, and how the
defect is known (`known`): reproduced against a plain reference, reported upstream, or read in the source.

**What to do.** The message names a way round where one is known: a channel count that takes another kernel, padding
in a Pad node, or a release without the defect. These change no result; other sizes need training.
"""

from onnxlint_cmsis.checks.execution_checks import HazardCheck
from onnxlint_cmsis.checks.fix_actions import REPAIR
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.decision import Cause

RULE = Rule(
    code="CNN302",
    name="wrong-result",
    level=Level.ERROR,
    effect=Effect.WRONG,
    summary="A kernel will return wrong values with status SUCCESS.",
    docs=__doc__,
    bad=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv<pads = [0, 0, 1, 1]>(x, w)
}
"""),
    good=Example("""
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
    kinds=("wrong-result", Cause.GROUPS.value),
    action=REPAIR,
)

run = HazardCheck(RULE.kinds)
