"""What an application chooses between the functions for q7 and q15."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import FILTER_1X1, IN, NO_PADDING, OUT, UNIT_STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, at_least, equal
from onnxlint_cmsis.cmsis_nn.legacy import scratch
from onnxlint_cmsis.cmsis_nn.legacy.builds import SQUARE, Lines
from onnxlint_cmsis.cmsis_nn.legacy.choices import ABSENT, NO_DILATION, checked, one_for_both, unchecked
from onnxlint_cmsis.cmsis_nn.rows import ScratchSize, Wrapper

_FOLDER = "FullyConnectedFunctions"
ROWS = 4
"""Rows that are interleaved."""


def dense(entry: str, function: str, lines: tuple[Lines, Lines], sizes: tuple[ScratchSize, ...]) -> Wrapper:
    """The choice of one data type, with the lines of `_opt` and of the other function.

    `_opt` takes interleaved weights, the other function weights as they are. A converter interleaves them once. Fewer
    than four rows are not interleaved: `_opt` then takes one at a time, and the other function two.
    """
    opt = f"{function}_opt"
    return Wrapper(
        entry=entry,
        function=function,
        branches=(
            *unchecked(opt, at_least(OUT.c, ROWS), lines[0], f"{_FOLDER}/{opt}.c"),
            *unchecked(function, TRUE, lines[1], f"{_FOLDER}/{function}.c"),
        ),
        sizes=sizes,
        absent=ABSENT,
        limits=(NO_DILATION,),
    )


_BY_2 = all_of(equal(IN.c % 2, 0), equal(OUT.c % 2, 0))
_EVEN_SIDE = equal(OUT.w % 2, 0)
_SQUARE_LIMITS = one_for_both("arm_convolve_HWC_q15_basic")
_ELSE = "arm_convolve_HWC_q15_fast_nonsquare takes even numbers of channels alone"

CONVOLVE_Q15_ROUTE = Wrapper(
    entry="convolve_q15",
    function="arm_convolve_HWC_q15_basic",
    branches=(
        *checked(
            "arm_convolve_HWC_q15_fast", all_of(_BY_2, SQUARE), (104, 104, 103, 105), (211, 211, 215, 217), _EVEN_SIDE
        ),
        *unchecked("arm_convolve_HWC_q15_basic", SQUARE, (75, 75, 74, 74)),
        *checked("arm_convolve_HWC_q15_fast_nonsquare", _BY_2, (114, 114, 113, 113), (221, 221, 227, 227)),
    ),
    sizes=scratch.CONVOLVE_Q15,
    absent=ABSENT,
    limits=(NO_DILATION, *(limit._replace(words=f"{limit.words}, and {_ELSE}") for limit in _SQUARE_LIMITS)),
)
"""Fast and basic; planes that are not square have only the fast one."""

_BY_4_AND_2 = all_of(equal(IN.c % 4, 0), equal(OUT.c % 2, 0))
_POINT = all_of(_BY_4_AND_2, FILTER_1X1, NO_PADDING, UNIT_STRIDE)

CONVOLVE_Q7_ROUTE = Wrapper(
    entry="convolve_q7",
    function="arm_convolve_HWC_q7_basic_nonsquare",
    branches=(
        *checked("arm_convolve_1x1_HWC_q7_fast_nonsquare", _POINT, (117, 117, 117, 117), (191, 192, 190, 190)),
        *checked("arm_convolve_HWC_q7_RGB", all_of(equal(IN.c, 3), SQUARE), (106, 106, 109, 109), (235, 235, 237, 238)),
        *checked("arm_convolve_HWC_q7_fast", all_of(_BY_4_AND_2, SQUARE), (122, 122, 121, 121), (363, 363, 337, 337)),
        *checked("arm_convolve_HWC_q7_fast_nonsquare", _BY_4_AND_2, (109, 109, 109, 109), (335, 335, 334, 334)),
        *unchecked("arm_convolve_HWC_q7_basic", SQUARE, (74, 74, 74, 74)),
        *unchecked("arm_convolve_HWC_q7_basic_nonsquare", TRUE, (67, 67, 68, 68)),
    ),
    sizes=scratch.CONVOLVE_Q7,
    absent=ABSENT,
    limits=(NO_DILATION,),
)
"""1x1, three input channels, fast, basic; one argument for both axes, or one for each."""

DEPTHWISE_Q7_ROUTE = Wrapper(
    entry="depthwise_q7",
    function="arm_depthwise_separable_conv_HWC_q7_nonsquare",
    branches=(
        *unchecked("arm_depthwise_separable_conv_HWC_q7", SQUARE, (82, 82, 82, 82)),
        *unchecked("arm_depthwise_separable_conv_HWC_q7_nonsquare", TRUE, (74, 74, 74, 74)),
    ),
    sizes=scratch.DEPTHWISE_Q7,
    absent=ABSENT,
    limits=(NO_DILATION,),
)
"""Both return an error unless there is one output channel for each input channel."""

FULLY_CONNECTED_Q15_ROUTE = dense(
    "fully_connected_q15", "arm_fully_connected_q15", ((97, 97, 96, 96), (66, 66, 65, 65)), scratch.DENSE_Q15
)

FULLY_CONNECTED_Q7_ROUTE = dense(
    "fully_connected_q7", "arm_fully_connected_q7", ((129, 129, 128, 128), (68, 68, 67, 67)), scratch.DENSE_Q7
)

_LINES = ((117, 117, 116, 116), (69, 69, 68, 68))

FULLY_CONNECTED_Q7Q15_ROUTE = dense(
    "fully_connected_q7q15", "arm_fully_connected_mat_q7_vec_q15", _LINES, scratch.DENSE_Q7Q15
)
FILE = "PoolingFunctions/arm_pool_q7_HWC.c"

MAX_POOL_Q7_ROUTE = Wrapper(
    entry="max_pool_q7",
    function="arm_maxpool_q7_HWC",
    branches=unchecked("arm_maxpool_q7_HWC", SQUARE, (176, 171, 170, 170), FILE),
    sizes=scratch.MAX_POOL_Q7,
    absent=ABSENT,
    limits=(NO_DILATION, *one_for_both("arm_maxpool_q7_HWC")),
)
"""Pools of 8 bits take only square planes, windows, strides and paddings."""

AVGPOOL_Q7_ROUTE = Wrapper(
    entry="avgpool_q7",
    function="arm_avepool_q7_HWC",
    branches=unchecked("arm_avepool_q7_HWC", SQUARE, (329, 322, 326, 326), FILE),
    sizes=scratch.AVGPOOL_Q7,
    absent=ABSENT,
    limits=(NO_DILATION, *one_for_both("arm_avepool_q7_HWC")),
)
