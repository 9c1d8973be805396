"""Convolution of 8 bits: 1x1, three input channels, fast, basic; one argument for both axes, or one for each."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, equal
from onnxlint_cmsis.cmsis_nn.legacy_builds import SQUARE
from onnxlint_cmsis.cmsis_nn.names import FILTER_1X1, IN_C, NO_PADDING, OUT_C, UNIT_STRIDE
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, checked, unchecked
from onnxlint_cmsis.cmsis_nn.routes.legacy.single_arguments import NO_DILATION
from onnxlint_cmsis.cmsis_nn.rows import Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import CONVOLVE_Q7

_BY_4_AND_2 = all_of(equal(IN_C % 4, 0), equal(OUT_C % 2, 0))
_POINT = all_of(_BY_4_AND_2, FILTER_1X1, NO_PADDING, UNIT_STRIDE)

WRAPPER = Wrapper(
    entry="convolve_q7",
    function="arm_convolve_HWC_q7_basic_nonsquare",
    branches=(
        *checked("arm_convolve_1x1_HWC_q7_fast_nonsquare", _POINT, (117, 117, 117, 117), (191, 192, 190, 190)),
        *checked("arm_convolve_HWC_q7_RGB", all_of(equal(IN_C, 3), SQUARE), (106, 106, 109, 109), (235, 235, 237, 238)),
        *checked("arm_convolve_HWC_q7_fast", all_of(_BY_4_AND_2, SQUARE), (122, 122, 121, 121), (363, 363, 337, 337)),
        *checked("arm_convolve_HWC_q7_fast_nonsquare", _BY_4_AND_2, (109, 109, 109, 109), (335, 335, 334, 334)),
        *unchecked("arm_convolve_HWC_q7_basic", SQUARE, (74, 74, 74, 74)),
        *unchecked("arm_convolve_HWC_q7_basic_nonsquare", TRUE, (67, 67, 68, 68)),
    ),
    sizes=CONVOLVE_Q7,
    absent=ABSENT,
    limits=(NO_DILATION,),
)
