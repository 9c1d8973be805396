"""A transpose convolution misses the reversed-convolution route.

From 7.0.0 on `arm_transpose_conv_wrapper_s8` runs layers with strides of at most 2 and more than 16 input
channels as an ordinary convolution (`arm_convolve_s8`) over a spread-out input with reversed weights. Others
take `arm_transpose_conv_s8`.

The direct route of 7.0.0 is wrong for everyday shapes (CNN302), and both 7.0.0 and main write past the output
for some (CNN303); 17 input channels step around both. Its cost has not been measured, so a miss alone is a
note.

**What to do.** See CNN302 and CNN303; where neither is reported, nothing is known to be gained.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.cmsis_nn.conditions import TRUE

CHECK = RoutingCheck(
    code="CNN121",
    name="transpose-conv-reversed",
    entries=frozenset({"transpose_conv_s8"}),
    kernels=frozenset({"arm_convolve_s8"}),
    scope=TRUE,
    variables=("input_dims.c",),
)
