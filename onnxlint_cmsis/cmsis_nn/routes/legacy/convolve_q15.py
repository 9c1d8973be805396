"""Convolution of 16 bits: fast and basic; planes that are not square have only the fast one."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import all_of, equal
from onnxlint_cmsis.cmsis_nn.legacy_builds import SQUARE
from onnxlint_cmsis.cmsis_nn.names import IN_C, OUT_C, OUT_W
from onnxlint_cmsis.cmsis_nn.routes.legacy.legacy_branches import ABSENT, checked, unchecked
from onnxlint_cmsis.cmsis_nn.routes.legacy.single_arguments import NO_DILATION, one_for_both
from onnxlint_cmsis.cmsis_nn.rows import Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.legacy_scratch import CONVOLVE_Q15

_BY_2 = all_of(equal(IN_C % 2, 0), equal(OUT_C % 2, 0))
_EVEN_SIDE = equal(OUT_W % 2, 0)
_SQUARE_LIMITS = one_for_both("arm_convolve_HWC_q15_basic")
_ELSE = "arm_convolve_HWC_q15_fast_nonsquare takes even numbers of channels alone"

WRAPPER = Wrapper(
    entry="convolve_q15",
    function="arm_convolve_HWC_q15_basic",
    branches=(
        *checked(
            "arm_convolve_HWC_q15_fast", all_of(_BY_2, SQUARE), (104, 104, 103, 105), (211, 211, 215, 217), _EVEN_SIDE
        ),
        *unchecked("arm_convolve_HWC_q15_basic", SQUARE, (75, 75, 74, 74)),
        *checked("arm_convolve_HWC_q15_fast_nonsquare", _BY_2, (114, 114, 113, 113), (221, 221, 227, 227)),
    ),
    sizes=CONVOLVE_Q15,
    absent=ABSENT,
    limits=(NO_DILATION, *(limit._replace(words=f"{limit.words}, and {_ELSE}") for limit in _SQUARE_LIMITS)),
)
