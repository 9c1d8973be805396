"""An s16 convolution misses the fast s16 kernel.

Up to 5.0.0 (and in 5.9.0 of CMSIS_5), builds with the DSP extension run `arm_convolve_fast_s16` when `filter_dims.h *
filter_dims.w * input_dims.c < 512` and there is no dilation, else a plain loop. From 6.0.0 on there is one s16
kernel. Nothing is said of a dilation, which no size replaces.

**What to do.** Use 6.0.0 or later, or fewer input channels. Padding never helps.
"""

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN104",
    name="conv-s16-fast",
    level=Level.NOTE,
    effect=Effect.COSTS,
    summary="An s16 convolution misses the fast s16 kernel.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 9, 8] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--assume s16 --release 5.0.0",
    ),
    good=Example(
        """
g (float[1, 8, 9, 9] x) => (float[N, C, H, W] y) <float[4, 8, 3, 3] w = {1}> {
    y = Conv(x, w)
}
""",
        options="--assume s16 --release 5.0.0",
    ),
)

run = RoutingCheck(
    entries=frozenset({"convolve_s16"}),
    kernels=frozenset({"arm_convolve_fast_s16"}),
    scope=TRUE,
)
