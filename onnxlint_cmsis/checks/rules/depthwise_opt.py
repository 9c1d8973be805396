"""A depthwise layer misses the optimized kernel.

`arm_depthwise_conv_s8_opt` (s4: `arm_depthwise_conv_s4_opt`, from 5.0.0) runs layers with multiplier 1, batch 1 and
no dilation. Others take the generic loop of `arm_depthwise_conv_s8`, which uses no SIMD instruction.

**What to do.** Run the batch as single inferences. Nothing is said of a dilation, which no size replaces.
"""

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT
from onnxlint_cmsis.cmsis_nn.conditions import equal
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN112",
    name="depthwise-opt",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A depthwise layer misses the optimized kernel.",
    docs=__doc__,
    bad=Example(
        """
g (float[2, 8, 9, 9] x) => (float[N, C, H, W] y) <float[8, 1, 3, 3] w = {1}> {
    y = Conv<group = 8>(x, w)
}
""",
        options="--target cortex-m55",
    ),
    good=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[8, 1, 3, 3] w = {1}> {
    y = Conv<group = 8>(x, w)
}
""",
        options="--target cortex-m55",
    ),
)

run = RoutingCheck(
    entries=frozenset({"depthwise_s8", "depthwise_s4"}),
    kernels=frozenset({"arm_depthwise_conv_s8_opt", "arm_depthwise_conv_s4_opt"}),
    scope=equal(CH_MULT, 1),
)
