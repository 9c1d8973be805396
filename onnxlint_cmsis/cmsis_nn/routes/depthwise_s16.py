"""arm_depthwise_conv_wrapper_s16: the fast kernel for multiplier 1, or the general one."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.depthwise_scratch import DEPTHWISE_S16, FAST_S16, FAST_S16_4_0

_FILE = CONVOLUTION + "arm_depthwise_conv_wrapper_s16.c"
_FUNCTION = "arm_depthwise_conv_wrapper_s16"
_FROM_4_1 = ("4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

WRAPPER = Wrapper(
    entry="depthwise_s16",
    function=_FUNCTION,
    branches=(
        Branch("arm_depthwise_conv_fast_s16", FAST_S16_4_0, Origin(_FILE, _FUNCTION, {"4.0.0": 67}, until="4.1.0")),
        Branch("arm_depthwise_conv_fast_s16", FAST_S16, Origin(_FILE, _FUNCTION, dict.fromkeys(_FROM_4_1, 64))),
        Branch("arm_depthwise_conv_s16", TRUE, Origin(_FILE, _FUNCTION, {"4.0.0": 81, **dict.fromkeys(_FROM_4_1, 78)})),
    ),
    sizes=DEPTHWISE_S16,
    params="dw_conv_params",
    absent="cmsis5-5.9.0 has arm_depthwise_conv_s16 but no wrapper, cmsis5-5.8.0 has neither",
)
