"""A 1x1 convolution misses the fast 1x1 kernel.

`arm_convolve_1x1_s8_fast` treats all pixels as the rows of one matrix product. CMSIS_5 (5.8.0, 5.9.0) takes it where
`input_dims.c % 4 == 0`; costs on CMSIS_5 were not measured. Every release wants stride 1 too, which no size replaces:
nothing is said of it.

**What to do.** Pad the input channels, or use 4.0.0 or later.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import FILTER_1X1, NO_PADDING, NOT_GROUPED, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.conditions import all_of
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN102",
    name="conv-1x1-fast",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A 1x1 convolution misses the fast 1x1 kernel.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 6, 9, 9] x) => (float[N, C, H, W] y) <float[4, 6, 1, 1] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--release 5.9.0",
    ),
    good=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 1, 1] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--release 5.9.0",
    ),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"convolve_s8", "convolve_s4"}),
    kernels=frozenset({"arm_convolve_1x1_s8_fast", "arm_convolve_1x1_s4_fast"}),
    scope=all_of(FILTER_1X1, NO_PADDING, NOT_GROUPED, UNIT_DILATION),
    variables=("input_dims.c",),
)
