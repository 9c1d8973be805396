"""A depthwise layer of one channel is not run as a convolution.

With MVE, 7.0.0 and later run a depthwise layer of one input channel as a convolution when it has more output channels
than 1, or 8 in builds with armclang. ONNX cannot tell such a layer from a convolution of one channel, and converters
differ. The linter takes a convolution, unless the setting `one-channel` is "depthwise".

**What to do.** Export the layer as a convolution.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import IN
from onnxlint_cmsis.cmsis_nn.conditions import equal
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN114",
    name="depthwise-to-conv",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A depthwise layer of one channel is not run as a convolution.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 1, 9, 9] x) => (float[N, C, H, W] y) <float[5, 1, 3, 3] u = {1}, float[4, 5, 1, 1] v = {1}> {
    a = Conv(x, u)
    y = Conv(a, v)
}
""",
        options="--target cortex-m55 --compiler armclang --config one-channel=depthwise",
    ),
    good=Example(
        """
g (float[1, 1, 9, 9] x) => (float[N, C, H, W] y) <float[9, 1, 3, 3] u = {1}, float[4, 9, 1, 1] v = {1}> {
    a = Conv(x, u)
    y = Conv(a, v)
}
""",
        options="--target cortex-m55 --compiler armclang --config one-channel=depthwise",
    ),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"depthwise_s8"}),
    kernels=frozenset({"arm_convolve_s8", "arm_convolve_1x1_s8", "arm_convolve_1x1_s8_fast", "arm_convolve_1_x_n_s8"}),
    scope=equal(IN.c, 1),
    variables=("ch_mult",),
    told=frozenset({"arm_convolve_wrapper_s8"}),
)
