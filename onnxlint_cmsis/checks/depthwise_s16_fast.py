"""An s16 depthwise layer misses the fast s16 kernel.

`arm_depthwise_conv_fast_s16` runs layers with multiplier 1, no dilation and fewer than 512 taps: filter height
times width, in 4.0.0 also times the input channels. Others take `arm_depthwise_conv_s16`.

**What to do.** In 4.0.0 fewer channels help; use 4.1.0 or later. Padding never helps here.
"""

from __future__ import annotations

from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.cmsis_nn.conditions import equal
from onnxlint_cmsis.cmsis_nn.names import CH_MULT

CHECK = RoutingCheck(
    code="CNN115",
    name="depthwise-s16-fast",
    entries=frozenset({"depthwise_s16"}),
    kernels=frozenset({"arm_depthwise_conv_fast_s16"}),
    scope=equal(CH_MULT, 1),
)
