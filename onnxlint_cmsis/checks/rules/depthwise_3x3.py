"""A 3x3 depthwise layer misses the 3x3 kernel.

Without MVE, `arm_depthwise_conv_3x3_s8` runs 3x3 depthwise layers with multiplier 1, batch 1, no dilation and padding
before of at most 1. Others take `arm_depthwise_conv_s8_opt`, on CPUs without DSP the generic loop.

**What to do.** No channel count helps; padding, dilation and batch are the author's choices.
"""

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT, FILTER
from onnxlint_cmsis.cmsis_nn.conditions import all_of, equal
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN111",
    name="depthwise-3x3",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A 3x3 depthwise layer misses the 3x3 kernel.",
    docs=__doc__,
    bad=Example("""
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[8, 1, 3, 3] w = {1}> {
    y = Conv<group = 8, pads = [2, 2, 0, 0]>(x, w)
}
"""),
    good=Example("""
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[8, 1, 3, 3] w = {1}> {
    y = Conv<group = 8, pads = [1, 1, 1, 1]>(x, w)
}
"""),
)

run = RoutingCheck(
    entries=frozenset({"depthwise_s8"}),
    kernels=frozenset({"arm_depthwise_conv_3x3_s8"}),
    scope=all_of(equal(CH_MULT, 1), equal(FILTER.h, 3), equal(FILTER.w, 3)),
)
