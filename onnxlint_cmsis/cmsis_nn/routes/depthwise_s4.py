"""arm_depthwise_conv_wrapper_s4: the kernel for multiplier 1, or the general one."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, equal
from onnxlint_cmsis.cmsis_nn.names import CH_MULT, IN_N, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.depthwise_scratch import DEPTHWISE_S4

_FILE = CONVOLUTION + "arm_depthwise_conv_wrapper_s4.c"
_FUNCTION = "arm_depthwise_conv_wrapper_s4"
_FROM_5 = ("5.0.0", "6.0.0", "7.0.0", "main")

WRAPPER = Wrapper(
    entry="depthwise_s4",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_depthwise_conv_s4_opt",
            all_of(equal(CH_MULT, 1), equal(IN_N, 1), UNIT_DILATION),
            Origin(_FILE, _FUNCTION, dict.fromkeys(_FROM_5, 62)),
        ),
        Branch("arm_depthwise_conv_s4", TRUE, Origin(_FILE, _FUNCTION, dict.fromkeys(_FROM_5, 77))),
    ),
    sizes=DEPTHWISE_S4,
    params="dw_conv_params",
    absent="s4 depthwise convolution came with 5.0.0",
)
