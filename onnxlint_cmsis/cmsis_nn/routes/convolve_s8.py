"""arm_convolve_wrapper_s8: 1x1, 1xN or the general kernel."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.names import (
    DILATION_H,
    DILATION_W,
    FILTER_1X1,
    FILTER_H,
    IN_C,
    IN_H,
    IN_N,
    NO_PADDING,
    NOT_GROUPED,
    OUT_H,
    OUT_W,
    STRIDE_W,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, Branch, Origin, OuterTest, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.convolve_scratch import CONVOLVE_S8

_FILE = CONVOLUTION + "arm_convolve_wrapper_s8.c"
_FUNCTION = "arm_convolve_wrapper_s8"

_UNIT_1X1 = all_of(NO_PADDING, UNIT_STRIDE, FILTER_1X1)
_POINT = all_of(NO_PADDING, FILTER_1X1, UNIT_DILATION)
_ONE_ROW = all_of(equal(IN_H, 1), equal(DILATION_W, 1), equal(FILTER_H, 1))
_WIDTH_BY_4 = equal(OUT_W % 4, 0)
_STEP_BY_4 = equal(STRIDE_W * IN_C % 4, 0)


_UNIT_LINES = {"4.0.0": 65, "6.0.0": 66, "main": 65}


def _branch(kernel: str, when: Condition, lines: dict[str, int], until: str = "") -> Branch:
    return Branch(kernel, when, Origin(_FILE, _FUNCTION, lines, until=until))


def _points(point: Condition, outer: dict[str, int], slow: dict[str, int], until: str = "") -> tuple[Branch, Branch]:
    """The fast and the slow 1x1 kernel; lines are those of the outer `if` and of the slow one's `else`."""
    tests = OuterTest(point, outer), OuterTest(UNIT_STRIDE, _UNIT_LINES)
    fast = _branch("arm_convolve_1x1_s8_fast", all_of(point, UNIT_STRIDE), outer, until)
    return fast._replace(tests=tests), _branch("arm_convolve_1x1_s8", point, slow, until)._replace(tests=tests[:1])


WRAPPER = Wrapper(
    entry="convolve_s8",
    function=_FUNCTION,
    branches=(
        _branch("arm_convolve_1x1_s8_fast", all_of(_UNIT_1X1, equal(IN_C % 4, 0)), {V5_8: 62}, V5_9),
        _branch("arm_convolve_1x1_s8_fast", all_of(_UNIT_1X1, equal(IN_C % 4, 0), UNIT_DILATION), {V5_9: 62}, "4.0.0"),
        *_points(_POINT, {"4.0.0": 62, "4.1.0": 62, "5.0.0": 62}, {"4.0.0": 79, "4.1.0": 79, "5.0.0": 79}, "6.0.0"),
        *_points(
            all_of(_POINT, NOT_GROUPED),
            {"6.0.0": 62, "7.0.0": 62, "main": 63},
            {"6.0.0": 80, "7.0.0": 80, "main": 79},
        ),
        _branch(
            "arm_convolve_1_x_n_s8",
            all_of(equal(OUT_H, 1), equal(IN_H, 1), equal(FILTER_H, 1), _WIDTH_BY_4, equal(IN_N, 1)),
            {V5_8: 77},
            V5_9,
        ),
        _branch(
            "arm_convolve_1_x_n_s8",
            all_of(equal(OUT_H, 1), _ONE_ROW, _WIDTH_BY_4, equal(IN_N, 1), equal(DILATION_H, 1)),
            {V5_9: 78},
            "4.0.0",
        ),
        _branch("arm_convolve_1_x_n_s8", all_of(_ONE_ROW, _WIDTH_BY_4), {"4.0.0": 94}, "4.1.0"),
        _branch("arm_convolve_1_x_n_s8", all_of(_ONE_ROW, _STEP_BY_4), {"4.1.0": 94, "5.0.0": 94}, "6.0.0"),
        _branch(
            "arm_convolve_1_x_n_s8",
            all_of(_ONE_ROW, _STEP_BY_4, NOT_GROUPED),
            {"6.0.0": 95, "7.0.0": 95, "main": 94},
        ),
        _branch(
            "arm_convolve_s8",
            TRUE,
            {
                V5_8: 92,
                V5_9: 93,
                "4.0.0": 108,
                "4.1.0": 109,
                "5.0.0": 109,
                "6.0.0": 110,
                "7.0.0": 110,
                "main": 108,
            },
        ),
    ),
    sizes=CONVOLVE_S8,
)
