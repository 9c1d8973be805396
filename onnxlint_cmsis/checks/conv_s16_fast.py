"""An s16 convolution misses the fast s16 kernel.

Up to 5.0.0 (and in 5.9.0 of CMSIS_5), builds with the DSP extension run `arm_convolve_fast_s16` when
`filter_dims.h * filter_dims.w * input_dims.c < 512` and there is no dilation. `arm_convolve_s16` in those
releases is a plain loop over single outputs. From 6.0.0 on there is one s16 kernel for all layers.

**What to do.** Use 6.0.0 or later, or fewer input channels. Padding never helps here: it makes the sum longer.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.cmsis_nn.conditions import TRUE

CHECK = RoutingCheck(
    code="CNN104",
    name="conv-s16-fast",
    entries=frozenset({"convolve_s16"}),
    kernels=frozenset({"arm_convolve_fast_s16"}),
    scope=TRUE,
)
