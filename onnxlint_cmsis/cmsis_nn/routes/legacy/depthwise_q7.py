"""Depthwise convolution of 8 bits. It returns an error unless there is one output channel for each input channel."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE
from onnxlint_cmsis.cmsis_nn.legacy_builds import SQUARE
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, unchecked
from onnxlint_cmsis.cmsis_nn.routes.legacy.single_arguments import NO_DILATION
from onnxlint_cmsis.cmsis_nn.rows import Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import DEPTHWISE_Q7

WRAPPER = Wrapper(
    entry="depthwise_q7",
    function="arm_depthwise_separable_conv_HWC_q7_nonsquare",
    branches=(
        *unchecked("arm_depthwise_separable_conv_HWC_q7", SQUARE, (82, 82, 82, 82)),
        *unchecked("arm_depthwise_separable_conv_HWC_q7_nonsquare", TRUE, (74, 74, 74, 74)),
    ),
    sizes=DEPTHWISE_Q7,
    absent=ABSENT,
    limits=(NO_DILATION,),
)
