"""Average pooling of 8 bits: only square planes, windows, strides and paddings."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.legacy_builds import SQUARE
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, unchecked
from onnxlint_cmsis.cmsis_nn.routes.legacy.max_pool_q7 import FILE
from onnxlint_cmsis.cmsis_nn.routes.legacy.single_arguments import NO_DILATION, one_for_both
from onnxlint_cmsis.cmsis_nn.rows import Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import AVGPOOL_Q7

WRAPPER = Wrapper(
    entry="avgpool_q7",
    function="arm_avepool_q7_HWC",
    branches=unchecked("arm_avepool_q7_HWC", SQUARE, (329, 322, 326, 326), FILE),
    sizes=AVGPOOL_Q7,
    absent=ABSENT,
    limits=(NO_DILATION, *one_for_both("arm_avepool_q7_HWC")),
)
