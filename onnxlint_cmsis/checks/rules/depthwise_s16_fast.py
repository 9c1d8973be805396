"""An s16 depthwise layer misses the fast s16 kernel.

`arm_depthwise_conv_fast_s16` runs layers with multiplier 1, no dilation and fewer than 512 taps: filter height times
width, in 4.0.0 also times the input channels. Others take `arm_depthwise_conv_s16`. Nothing is said of a dilation,
which no size replaces.

**What to do.** Take a smaller filter, or 4.1.0 or later; in 4.0.0 fewer channels. Padding never helps.
"""

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT
from onnxlint_cmsis.cmsis_nn.conditions import equal
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN115",
    name="depthwise-s16-fast",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="An s16 depthwise layer misses the fast s16 kernel.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8, 24, 24] x) => (float[N, C, H, W] y) <float[8, 1, 23, 23] w = {1}> {
    y = Conv<group = 8>(x, w)
}
""",
        options="--assume s16",
    ),
    good=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[8, 1, 3, 3] w = {1}> {
    y = Conv<group = 8>(x, w)
}
""",
        options="--assume s16",
    ),
)

run = RoutingCheck(
    entries=frozenset({"depthwise_s16"}),
    kernels=frozenset({"arm_depthwise_conv_fast_s16"}),
    scope=equal(CH_MULT, 1),
)
