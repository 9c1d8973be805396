"""Max pooling of 8 bits: only square planes, windows, strides and paddings."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.legacy_builds import SQUARE
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, unchecked
from onnxlint_cmsis.cmsis_nn.routes.legacy.single_arguments import NO_DILATION, one_for_both
from onnxlint_cmsis.cmsis_nn.rows import Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import MAX_POOL_Q7

FILE = "PoolingFunctions/arm_pool_q7_HWC.c"

WRAPPER = Wrapper(
    entry="max_pool_q7",
    function="arm_maxpool_q7_HWC",
    branches=unchecked("arm_maxpool_q7_HWC", SQUARE, (176, 171, 170, 170), FILE),
    sizes=MAX_POOL_Q7,
    absent=ABSENT,
    limits=(NO_DILATION, *one_for_both("arm_maxpool_q7_HWC")),
)
