"""arm_depthwise_conv_wrapper_s8: convolution on MVE, 3x3, the kernel for multiplier 1, or the general one."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, at_most, equal, greater
from onnxlint_cmsis.cmsis_nn.names import (
    CH_MULT,
    FILTER_H,
    FILTER_W,
    IN_C,
    IN_N,
    OUT_C,
    PAD_H,
    PAD_W,
    UNIT_DILATION,
)
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, MVE_ONLY, NOT_MVE, Branch, Origin, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.depthwise_scratch import DEPTHWISE_S8, TRANSPOSED_FILTER

_FILE = CONVOLUTION + "arm_depthwise_conv_wrapper_s8.c"
_FUNCTION = "arm_depthwise_conv_wrapper_s8"
_FROM_4_0 = dict.fromkeys(("4.0.0", "4.1.0", "5.0.0", "6.0.0"), 0)
_TO_CONV = {"7.0.0": 110, "main": 110}

_SINGLE_5_8 = all_of(equal(CH_MULT, 1), equal(IN_N, 1))
_SINGLE = all_of(_SINGLE_5_8, UNIT_DILATION)
_SQUARE_3 = all_of(equal(FILTER_W, 3), equal(FILTER_H, 3), at_most(PAD_H, 1))


def _to_conv(threshold: int, compiler: str) -> Branch:
    """From 7.0.0 on: CONVERT_DW_CONV_WITH_ONE_INPUT_CH_AND_OUTPUT_CH_ABOVE_THRESHOLD, by compiler."""
    return Branch(
        "arm_convolve_wrapper_s8",
        all_of(equal(IN_C, 1), greater(OUT_C, threshold)),
        Origin(_FILE, _FUNCTION, _TO_CONV, MVE_ONLY, (compiler,)),
        entry="convolve_s8",
        binds=TRANSPOSED_FILTER,
    )


def _lines(first: int, second: int, third: int, last: int) -> dict[str, int]:
    """Lines in 5.8.0, 5.9.0, 4.0.0 to 6.0.0, and 7.0.0 with main."""
    older = {"cmsis5-5.8.0": first, "cmsis5-5.9.0": second}
    return older | dict.fromkeys(_FROM_4_0, third) | dict.fromkeys(_TO_CONV, last)


def _newer(lines: dict[str, int]) -> dict[str, int]:
    return {release: line for release, line in lines.items() if release != "cmsis5-5.8.0"}


_LINE_3X3 = _lines(65, 66, 66, 130)
_LINE_OPT = _lines(79, 81, 81, 145)
_LINE_GENERAL = _lines(95, 97, 97, 161)


def _only_5_8(lines: dict[str, int]) -> dict[str, int]:
    return {"cmsis5-5.8.0": lines["cmsis5-5.8.0"]}


def _not_mve(when: Condition, lines: dict[str, int]) -> Branch:
    return Branch("arm_depthwise_conv_3x3_s8", when, Origin(_FILE, _FUNCTION, lines, NOT_MVE))


WRAPPER = Wrapper(
    entry="depthwise_s8",
    function=_FUNCTION,
    branches=(
        _to_conv(1, "gcc"),
        _to_conv(8, "armclang"),
        _not_mve(all_of(_SINGLE_5_8, _SQUARE_3), _only_5_8(_LINE_3X3)),
        _not_mve(all_of(_SINGLE, _SQUARE_3, at_most(PAD_W, 1)), _newer(_LINE_3X3)),
        Branch("arm_depthwise_conv_s8_opt", _SINGLE_5_8, Origin(_FILE, _FUNCTION, _only_5_8(_LINE_OPT))),
        Branch("arm_depthwise_conv_s8_opt", _SINGLE, Origin(_FILE, _FUNCTION, _newer(_LINE_OPT))),
        Branch("arm_depthwise_conv_s8", TRUE, Origin(_FILE, _FUNCTION, _LINE_GENERAL)),
    ),
    sizes=DEPTHWISE_S8,
    params="dw_conv_params",
)
