"""An s4 convolution misses the kernel for even column counts.

With MVE, 7.0.0 and later run `arm_convolve_even_s4` when `filter_dims.h * filter_dims.w * input_dims.c` is
even; with an odd count every second output channel starts in the middle of a byte, and `arm_convolve_s4`
unpacks it on the way. An even number of input channels always makes the count even.

**What to do.** The cost has not been measured; a channel count within reach is reported as a note.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.cmsis_nn.conditions import TRUE

CHECK = RoutingCheck(
    code="CNN105",
    name="conv-s4-even",
    entries=frozenset({"convolve_s4"}),
    kernels=frozenset({"arm_convolve_even_s4"}),
    scope=TRUE,
    variables=("input_dims.c",),
)
