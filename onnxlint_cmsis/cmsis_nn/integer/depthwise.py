"""Which kernel the depthwise wrappers of s8, s16 and s4 pick.

Each has a kernel for multiplier 1 and a general one; s8 also has one for 3x3 windows, and convolution on MVE.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT, FILTER, IN, OUT, PAD, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.conditions import (
    TRUE,
    Condition,
    all_of,
    at_most,
    equal,
    greater,
)
from onnxlint_cmsis.cmsis_nn.integer.depthwise_scratch import (
    DEPTHWISE_S4,
    DEPTHWISE_S8,
    DEPTHWISE_S16,
    FAST_S16,
    FAST_S16_4_0,
    TRANSPOSED_FILTER,
)
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    MVE_ONLY,
    NOT_MVE,
    Branch,
    OuterTest,
    Wrapper,
    kernel_at,
)
from onnxlint_cmsis.ground.types import Isa

_S16_FUNCTION = "arm_depthwise_conv_wrapper_s16"
FROM_4_1 = ("4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

DEPTHWISE_S16_ROUTE = Wrapper(
    entry="depthwise_s16",
    function=_S16_FUNCTION,
    branches=(
        Branch("arm_depthwise_conv_fast_s16", FAST_S16_4_0, kernel_at(_S16_FUNCTION, {"4.0.0": 67}, until="4.1.0")),
        Branch("arm_depthwise_conv_fast_s16", FAST_S16, kernel_at(_S16_FUNCTION, dict.fromkeys(FROM_4_1, 64))),
        Branch(
            "arm_depthwise_conv_s16",
            TRUE,
            kernel_at(_S16_FUNCTION, {"4.0.0": 81, **dict.fromkeys(FROM_4_1, 78)}),
        ),
    ),
    sizes=DEPTHWISE_S16,
    params="dw_conv_params",
    absent="cmsis5-5.9.0 has arm_depthwise_conv_s16 but no wrapper, cmsis5-5.8.0 has neither",
)

_S4_FUNCTION = "arm_depthwise_conv_wrapper_s4"
_S4_FROM_5 = ("5.0.0", "6.0.0", "7.0.0", "main")

DEPTHWISE_S4_ROUTE = Wrapper(
    entry="depthwise_s4",
    function=_S4_FUNCTION,
    branches=(
        Branch(
            "arm_depthwise_conv_s4_opt",
            all_of(equal(CH_MULT, 1), equal(IN.n, 1), UNIT_DILATION),
            kernel_at(_S4_FUNCTION, dict.fromkeys(_S4_FROM_5, 62)),
        ),
        Branch("arm_depthwise_conv_s4", TRUE, kernel_at(_S4_FUNCTION, dict.fromkeys(_S4_FROM_5, 77))),
    ),
    sizes=DEPTHWISE_S4,
    params="dw_conv_params",
    absent="s4 depthwise convolution came with 5.0.0",
)

_S8_FUNCTION = "arm_depthwise_conv_wrapper_s8"
_FROM_4_0 = ("4.0.0", "4.1.0", "5.0.0", "6.0.0")
_TO_CONV = {"7.0.0": 110, "main": 110}

_SINGLE_5_8 = all_of(equal(CH_MULT, 1), equal(IN.n, 1))
_SINGLE = all_of(_SINGLE_5_8, UNIT_DILATION)
_S8_SQUARE_3 = all_of(equal(FILTER.w, 3), equal(FILTER.h, 3), at_most(PAD.h, 1))


def _s8_to_conv(threshold: int, compiler: str) -> Branch:
    """From 7.0.0 on: CONVERT_DW_CONV_WITH_ONE_INPUT_CH_AND_OUTPUT_CH_ABOVE_THRESHOLD, by compiler."""
    return Branch(
        "arm_convolve_wrapper_s8",
        all_of(equal(IN.c, 1), greater(OUT.c, threshold)),
        kernel_at(_S8_FUNCTION, _TO_CONV, MVE_ONLY)._replace(compilers=(compiler,)),
        entry="convolve_s8",
        binds=TRANSPOSED_FILTER,
    )


def _lines(second: int, third: int, last: int) -> dict[str, int]:
    """Lines in 5.9.0, 4.0.0 to 6.0.0, and 7.0.0 with main."""
    return {V5_9: second, **dict.fromkeys(_FROM_4_0, third), **dict.fromkeys(_TO_CONV, last)}


def _branch(
    kernel: str, when: Condition, lines: dict[str, int], isas: tuple[Isa, ...] = ALL_ISAS, until: str = ""
) -> Branch:
    return Branch(kernel, when, kernel_at(_S8_FUNCTION, lines, isas, until))


def _nested(outer: Condition, inner: Branch) -> Branch:
    """A branch inside the `if` that asks for one image, multiplier 1 and, from 5.9.0 on, no dilation."""
    lines = {V5_8: 62, V5_9: 62, **dict.fromkeys(_FROM_4_0, 62), **dict.fromkeys(_TO_CONV, 126)}
    return inner._replace(tests=(OuterTest(outer, lines),))


_S8_3X3, _S8_OPT = "arm_depthwise_conv_3x3_s8", "arm_depthwise_conv_s8_opt"

DEPTHWISE_S8_ROUTE = Wrapper(
    entry="depthwise_s8",
    function=_S8_FUNCTION,
    branches=(
        _s8_to_conv(1, "gcc"),
        _s8_to_conv(8, "armclang"),
        _nested(_SINGLE_5_8, _branch(_S8_3X3, all_of(_SINGLE_5_8, _S8_SQUARE_3), {V5_8: 65}, NOT_MVE, V5_9)),
        _nested(
            _SINGLE, _branch(_S8_3X3, all_of(_SINGLE, _S8_SQUARE_3, at_most(PAD.w, 1)), _lines(66, 66, 130), NOT_MVE)
        ),
        _nested(_SINGLE_5_8, _branch(_S8_OPT, _SINGLE_5_8, {V5_8: 79}, until=V5_9)),
        _nested(_SINGLE, _branch(_S8_OPT, _SINGLE, _lines(81, 81, 145))),
        _branch("arm_depthwise_conv_s8", TRUE, {V5_8: 95, **_lines(97, 97, 161)}),
    ),
    sizes=DEPTHWISE_S8,
    params="dw_conv_params",
)
