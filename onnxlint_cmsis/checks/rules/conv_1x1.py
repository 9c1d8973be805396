"""A 1x1 convolution misses the 1x1 kernels.

A convolution with a 1x1 filter is a matrix product over its input as it lies in memory. CMSIS-NN 4.0.0 and
later run it as such (`arm_convolve_1x1_s8`, `arm_convolve_1x1_s4`) when there is no padding before and no
dilation, and from 6.0.0 on (s4: main) only when the filter has as many channels as the input, that is, without
groups. Otherwise the layer goes through `arm_convolve_s8` (`arm_convolve_s4`), which copies its input into a
scratch buffer first.

Before 6.0.0 a grouped layer takes the 1x1 kernel, which computes it wrongly: see CNN302.

**What to do.** Move padding out of a 1x1 layer, into a Pad node in front of it; without padding it computes something
else and has to be trained again. A grouped 1x1 layer can be written as several layers, or as one layer whose weights
hold zeros between the groups.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.kinds import RoutingCheck
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.cmsis_nn.conditions import FILTER_1X1
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
