"""An s4 convolution misses the kernel for even column counts.

With MVE, 7.0.0 and later run `arm_convolve_even_s4` when `filter_dims.h * filter_dims.w * input_dims.c` is even. With
an odd count every second output channel starts inside a byte, and `arm_convolve_s4` unpacks it on the way.

**What to do.** Take an even number of input channels. The gain was not measured.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN105",
    name="conv-s4-even",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="An s4 convolution misses the kernel for even column counts.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[3, 4, 1, 1] u = {1}, float[4, 3, 3, 3] v = {1}> {
    a = Conv(x, u)
    y = Conv(a, v)
}
""",
        options="--target cortex-m55 --assume s4",
    ),
    good=Example(
        """
g (float[1, 4, 8, 8] x) => (float[N, C, H, W] y) <float[4, 4, 1, 1] u = {1}, float[4, 4, 3, 3] v = {1}> {
    a = Conv(x, u)
    y = Conv(a, v)
}
""",
        options="--target cortex-m55 --assume s4",
    ),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"convolve_s4"}),
    kernels=frozenset({"arm_convolve_even_s4"}),
    scope=TRUE,
    variables=("input_dims.c",),
)
