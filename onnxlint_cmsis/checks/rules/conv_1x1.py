"""A 1x1 convolution misses the 1x1 kernels.

From 4.0.0 on `arm_convolve_1x1_s8` and `arm_convolve_1x1_s4` run a 1x1 convolution over its input as it lies in
memory. They need no padding before and no dilation, and from 6.0.0 on (s4: main) no groups. Otherwise
`arm_convolve_s8` (`arm_convolve_s4`) copies the input into a scratch buffer first.

**What to do.** Move padding into a Pad node in front of the layer; without padding it computes something else. Write
a grouped layer as several layers, or with zeros between the groups of its weights.
"""

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import FILTER_1X1
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN101",
    name="conv-1x1",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A 1x1 convolution misses the 1x1 kernels.",
    docs=__doc__,
    bad=Example("""
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 1, 1] w = {1}> {
    y = Conv<pads = [1, 1, 1, 1]>(x, w)
}
"""),
    good=Example("""
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 1, 1] w = {1}> {
    y = Conv(x, w)
}
"""),
)

run = RoutingCheck(
    entries=frozenset({"convolve_s8", "convolve_s4"}),
    kernels=frozenset(
        {"arm_convolve_1x1_s8", "arm_convolve_1x1_s4", "arm_convolve_1x1_s8_fast", "arm_convolve_1x1_s4_fast"}
    ),
    scope=FILTER_1X1,
    told=frozenset({"arm_convolve_1x1_s8", "arm_convolve_1x1_s4"}),
)
