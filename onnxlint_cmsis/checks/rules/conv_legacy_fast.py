"""A q7 or q15 convolution misses the fast function of the legacy API.

With `--api legacy` the application chooses between functions of CMSIS 5, and [each checks its
sizes](../legacy.md#which-function-takes-a-layer): for others it returns ARM_MATH_SIZE_MISMATCH. Here more channels
reach the fast one. In scalar code (Cortex-M0, M3, and M55 from 5.9.0 on) both have the same loop, and the rule is
silent. [Whether it pays](../legacy.md#what-fast-is-worth) was measured.

**What to do.** Where the message says that it pays, take its channel count, in training or with `--fix --fix-policy
route`.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.measured_gain import Gain, between
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import FILTER, FILTER_1X1, IN, OUT
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, any_of, at_most
from onnxlint_cmsis.cmsis_nn.library import runs_dsp_body
from onnxlint_cmsis.cmsis_nn.terms import var
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

_WANTED_IN, _WANTED_OUT = var("want.input_dims.c"), var("want.output_dims.c")

RULE = Rule(
    code="CNN106",
    name="conv-legacy-fast",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="A q7 or q15 convolution misses the fast function of the legacy API.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[7, 4, 3, 3] u = {1}, float[8, 7, 3, 3] v = {1}> {
    a = Conv<pads = [1, 1, 1, 1]>(x, u)
    y = Conv<pads = [1, 1, 1, 1]>(a, v)
}
""",
        options="--api legacy --target cortex-m4",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[8, 4, 3, 3] u = {1}, float[8, 8, 3, 3] v = {1}> {
    a = Conv<pads = [1, 1, 1, 1]>(x, u)
    y = Conv<pads = [1, 1, 1, 1]>(a, v)
}
""",
        options="--api legacy --target cortex-m4",
    ),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"convolve_q7", "convolve_q15"}),
    kernels=frozenset(
        {
            "arm_convolve_1x1_HWC_q7_fast_nonsquare",
            "arm_convolve_HWC_q7_RGB",
            "arm_convolve_HWC_q7_fast",
            "arm_convolve_HWC_q7_fast_nonsquare",
            "arm_convolve_HWC_q15_fast",
            "arm_convolve_HWC_q15_fast_nonsquare",
        }
    ),
    scope=TRUE,
    variables=("input_dims.c", "output_dims.c"),
    builds=runs_dsp_body,
    gain=Gain(
        RULE.name,
        all_of(
            between(1, FILTER.w, 5),
            between(4, OUT.w, 16),
            any_of(FILTER_1X1, at_most(7 * (_WANTED_IN * _WANTED_OUT), 8 * (IN.c * OUT.c))),
            between(1, IN.c, 30),
            between(7, OUT.c, 32),
        ),
    ),
    told=frozenset(
        {
            "arm_convolve_HWC_q7_fast",
            "arm_convolve_HWC_q7_fast_nonsquare",
            "arm_convolve_HWC_q15_fast",
            "arm_convolve_HWC_q15_fast_nonsquare",
        }
    ),
)
