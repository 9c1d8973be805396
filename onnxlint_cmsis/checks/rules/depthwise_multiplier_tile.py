"""A depthwise multiplier misses the tile of four.

`arm_depthwise_conv_s8` computes four output channels of one input channel at a time where `ch_mult % 4 == 0`, the
batch is 1 and, except in 5.8.0, there is no dilation. Any other multiplier above 1 takes a generic loop. Padding to
the next multiple of four was faster in every measured pair (4.0.0 to main; `--explain` has the numbers). On MVE from
7.0.0 on, layers of one input channel become convolutions (CNN114) and gain nothing.

**What to do.** Pad the multiplier: new channels sit inside each input channel's group of outputs, not at the end.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.measured_gain import Gain, between
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT, FILTER
from onnxlint_cmsis.cmsis_nn.conditions import all_of, at_most, greater
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN113",
    name="depthwise-multiplier-tile",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="A depthwise multiplier misses the tile of four.",
    docs=__doc__,
    bad=Example("""
g (float[1, 6, 8, 8] x) => (float[N, C, H, W] y) <float[18, 1, 3, 3] u = {1}, float[4, 18, 1, 1] v = {1}> {
    a = Conv<group = 6>(x, u)
    y = Conv(a, v)
}
"""),
    good=Example("""
g (float[1, 6, 8, 8] x) => (float[N, C, H, W] y) <float[24, 1, 3, 3] u = {1}, float[4, 24, 1, 1] v = {1}> {
    a = Conv<group = 6>(x, u)
    y = Conv(a, v)
}
"""),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"depthwise_s8"}),
    kernels=frozenset({"depthwise_conv_s8_mult_4"}),
    scope=greater(CH_MULT, 1),
    variables=("ch_mult",),
    # The tile repeats for every pixel and input channel, so only the multiplier and the filter are bounded.
    gain=Gain(RULE.name, all_of(between(2, CH_MULT, 7), at_most(FILTER.h, 10), at_most(FILTER.w, 10))),
)
