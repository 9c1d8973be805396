"""A kernel will return an error.

The kernel returns `ARM_CMSIS_NN_ARG_ERROR` (-1), `ARM_CMSIS_NN_NO_IMPL_ERROR` (-2) or `ARM_CMSIS_NN_FAILURE` (-3) for
this shape on this release and CPU. The output is not computed, and most runtimes abort.

**What to do.** The message gives the sizes that matter and what avoids the case. A Pad node in front of the layer and
channels of zeros change no result; other sizes need training.
"""

from onnxlint_cmsis.checks.execution_checks import HazardCheck
from onnxlint_cmsis.checks.fix_actions import REPAIR
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN301",
    name="returns-error",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="A kernel will return an error.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8, 48] x) => (float[N, C, L] y) <float[8, 8, 5] w = {1}> {
    y = Conv<pads = [3, 0]>(x, w)
}
""",
        options="--target cortex-m55",
    ),
    good=Example(
        """
g (float[1, 8, 48] x) => (float[N, C, L] y) <float[8, 8, 5] w = {1}> {
    y = Conv<pads = [2, 2]>(x, w)
}
""",
        options="--target cortex-m55",
    ),
    kinds=("returns-error",),
    action=REPAIR,
)

run = HazardCheck(RULE.kinds)
