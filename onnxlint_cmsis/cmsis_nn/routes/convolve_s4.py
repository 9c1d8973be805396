"""arm_convolve_wrapper_s4: 1x1, 1xN, even number of weights per output on MVE, or the general kernel."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.names import (
    COLS,
    DILATION_W,
    FILTER_1X1,
    FILTER_H,
    IN_C,
    IN_H,
    NO_PADDING,
    NOT_GROUPED,
    STRIDE_W,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, CONVOLUTION, MVE_ONLY, Branch, Origin, OuterTest, Wrapper
from onnxlint_cmsis.cmsis_nn.scratch.convolve_scratch import CONVOLVE_S4
from onnxlint_cmsis.types import Isa

_FILE = CONVOLUTION + "arm_convolve_wrapper_s4.c"
_FUNCTION = "arm_convolve_wrapper_s4"
_POINT = all_of(NO_PADDING, FILTER_1X1, UNIT_DILATION)
_ONE_ROW = all_of(equal(IN_H, 1), equal(DILATION_W, 1), equal(FILTER_H, 1), equal(STRIDE_W * IN_C % 4, 0), NOT_GROUPED)


def _branch(
    kernel: str, when: Condition, lines: dict[str, int], until: str = "", isas: tuple[Isa, ...] = ALL_ISAS
) -> Branch:
    return Branch(kernel, when, Origin(_FILE, _FUNCTION, lines, isas, until=until))


def _points(point: Condition, outer: dict[str, int], slow: dict[str, int], until: str = "") -> tuple[Branch, Branch]:
    """The fast and the slow 1x1 kernel; lines are those of the outer `if` and of the slow one's `else`."""
    tests = OuterTest(point, outer), OuterTest(UNIT_STRIDE, {"5.0.0": 65})
    fast = _branch("arm_convolve_1x1_s4_fast", all_of(point, UNIT_STRIDE), outer, until)
    return fast._replace(tests=tests), _branch("arm_convolve_1x1_s4", point, slow, until)._replace(tests=tests[:1])


WRAPPER = Wrapper(
    entry="convolve_s4",
    function=_FUNCTION,
    branches=(
        *_points(
            _POINT, {"5.0.0": 62, "6.0.0": 62, "7.0.0": 62}, {"5.0.0": 79, "6.0.0": 79, "7.0.0": 79}, until="main"
        ),
        *_points(all_of(_POINT, NOT_GROUPED), {"main": 63}, {"main": 79}),
        _branch("arm_convolve_1_x_n_s4", _ONE_ROW, {"6.0.0": 94, "7.0.0": 94, "main": 94}),
        _branch("arm_convolve_even_s4", equal(COLS % 2, 0), {"7.0.0": 110, "main": 109}, isas=MVE_ONLY),
        _branch("arm_convolve_s4", TRUE, {"5.0.0": 94, "6.0.0": 109, "7.0.0": 125, "main": 124}),
    ),
    sizes=CONVOLVE_S4,
    absent="s4 convolution came with 5.0.0",
)
