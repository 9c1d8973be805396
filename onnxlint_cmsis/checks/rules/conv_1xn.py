"""A one-dimensional convolution misses the 1xN kernel.

`arm_convolve_1_x_n_s8` (s4: from 6.0.0) computes layers whose input and filter have height 1. Its MVE build
(Cortex-M52, M55, M85) alone differs from `arm_convolve_s8`. CMSIS_5 and 4.0.0 ask for an output width that is a
multiple of 4; 4.1.0 and later for `(stride.w * input_dims.c) % 4 == 0`, from 6.0.0 on also for no groups. None takes
a dilation along the width.

More input channels can reach the kernel, and cost work. It is a warning where that was faster in every measured pair
on an emulated Cortex-M55: s8, the same number of 16-byte blocks per filter row, and an output at least ten times as
wide as the padding before.

**What to do.** Where it is a warning, pad the named channel count with zeros.
"""

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.measured_gain import Gain, between
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN, OUT, PAD, STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import all_of, at_least, at_most, equal, greater
from onnxlint_cmsis.cmsis_nn.terms import var
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN103",
    name="conv-1xn",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="A one-dimensional convolution misses the 1xN kernel.",
    docs=__doc__,
    bad=Example(
        """
g (float[1, 3, 48] x) => (float[N, C, L] y) <float[7, 3, 1] u = {1}, float[16, 7, 5] v = {1}, float[4, 16, 1] w = {1}> {
    a = Conv(x, u)
    b = Conv<pads = [2, 2]>(a, v)
    y = Conv(b, w)
}
""",
        options="--target cortex-m55",
    ),
    good=Example(
        """
g (float[1, 3, 48] x) => (float[N, C, L] y) <float[8, 3, 1] u = {1}, float[16, 8, 5] v = {1}, float[4, 16, 1] w = {1}> {
    a = Conv(x, u)
    b = Conv<pads = [2, 2]>(a, v)
    y = Conv(b, w)
}
""",
        options="--target cortex-m55",
    ),
    action=ROUTE,
)

run = RoutingCheck(
    entries=frozenset({"convolve_s8", "convolve_s4"}),
    kernels=frozenset({"arm_convolve_1_x_n_s8", "arm_convolve_1_x_n_s4"}),
    scope=all_of(equal(IN.h, 1), equal(FILTER.h, 1), greater(FILTER.w, 1)),
    variables=("input_dims.c",),
    gain=Gain(
        RULE.name,
        # The strip costs a padded column each time, so the output has to be wide; the bounds are those of the pairs.
        all_of(
            equal((FILTER.w * IN.c + 15) // 16, (FILTER.w * var("want.input_dims.c") + 15) // 16),  # 16-byte vectors
            at_least(OUT.w, 10 * PAD.w),
            between(3, IN.c, 39),
            between(2, OUT.c, 36),
            between(11, OUT.w, 62),
            between(3, FILTER.w, 7),
            at_most(STRIDE.w, 2),
        ),
    ),
)
