"""A transpose convolution misses the reversed-convolution route.

From 7.0.0 on `arm_transpose_conv_wrapper_s8` runs layers with strides of at most 2 and more than 16 input channels
with `arm_convolve_s8` over a spread-out input. Others take `arm_transpose_conv_s8`, which is wrong for everyday
shapes in 7.0.0 (CNN302) and writes past some outputs (CNN303).

**What to do.** See CNN302 and CNN303; 17 input channels step around both. Else no gain is known.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN121",
    name="transpose-conv-reversed",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="A transpose convolution misses the reversed-convolution route.",
    docs=__doc__,
    bad=Example("""
g (float[1, 3, 6, 6] x) => (float[N, C, H, W] y) <float[16, 3, 1, 1] u = {1}, float[16, 4, 2, 2] v = {1}> {
    a = Conv(x, u)
    y = ConvTranspose<strides = [2, 2]>(a, v)
}
"""),
    good=Example("""
g (float[1, 3, 6, 6] x) => (float[N, C, H, W] y) <float[17, 3, 1, 1] u = {1}, float[17, 4, 3, 3] v = {1}> {
    a = Conv(x, u)
    y = ConvTranspose<strides = [2, 2]>(a, v)
}
"""),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"transpose_conv_s8"}),
    kernels=frozenset({"arm_convolve_s8"}),
    scope=TRUE,
    variables=("input_dims.c",),
)
