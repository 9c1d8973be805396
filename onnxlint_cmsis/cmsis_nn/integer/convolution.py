"""Which kernel the convolution wrappers of s8, s16 and s4 pick.

arm_convolve_wrapper_s16 has a fast kernel on dsp up to 5.0.0, and the general one else; the other two choose between
1x1, 1xN and the general kernel, and for s4 on MVE a kernel for an even number of weights per output.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    COLS,
    DILATION,
    FILTER,
    FILTER_1X1,
    IN,
    NO_PADDING,
    NOT_GROUPED,
    OUT,
    STRIDE,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import (
    TRUE,
    Condition,
    all_of,
    equal,
    less,
)
from onnxlint_cmsis.cmsis_nn.integer.convolution_scratch import (
    CONVOLVE_S4,
    CONVOLVE_S8,
    CONVOLVE_S16,
    POINT,
    WIDTH_BY_4,
)
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    MVE_ONLY,
    Branch,
    OuterTest,
    Wrapper,
    kernel_at,
)
from onnxlint_cmsis.ground.types import Isa

_S16_FUNCTION = "arm_convolve_wrapper_s16"
_SPLIT = (V5_9, "4.0.0", "4.1.0", "5.0.0")
_JOINED = "6.0.0"

CONVOLVE_S16_ROUTE = Wrapper(
    entry="convolve_s16",
    function=_S16_FUNCTION,
    branches=(
        Branch(
            "arm_convolve_fast_s16",
            all_of(less(COLS, 512), UNIT_DILATION),
            kernel_at(_S16_FUNCTION, dict.fromkeys(_SPLIT, 63), isas=(Isa.DSP,), until=_JOINED),
        ),
        Branch(
            "arm_convolve_s16",
            TRUE,
            kernel_at(_S16_FUNCTION, dict.fromkeys(_SPLIT, 78), isas=(Isa.DSP,), until=_JOINED),
        ),
        Branch(
            "arm_convolve_s16",
            TRUE,
            kernel_at(_S16_FUNCTION, dict.fromkeys(_SPLIT, 92), isas=(Isa.SCALAR, Isa.MVE), until=_JOINED),
        ),
        Branch("arm_convolve_s16", TRUE, kernel_at(_S16_FUNCTION, {_JOINED: 62, "7.0.0": 62, "main": 62})),
    ),
    sizes=CONVOLVE_S16,
    absent="s16 convolution came with cmsis5-5.9.0",
)

_S4_UP_TO_7 = ("5.0.0", "6.0.0", "7.0.0")
_S4_FUNCTION = "arm_convolve_wrapper_s4"
_S4_ONE_ROW = all_of(
    equal(IN.h, 1), equal(DILATION.w, 1), equal(FILTER.h, 1), equal(STRIDE.w * IN.c % 4, 0), NOT_GROUPED
)


def _s4_branch(
    kernel: str, when: Condition, lines: dict[str, int], until: str = "", isas: tuple[Isa, ...] = ALL_ISAS
) -> Branch:
    return Branch(kernel, when, kernel_at(_S4_FUNCTION, lines, isas, until))


_UNIT_LINES = {"s4": {"5.0.0": 65}, "s8": {"4.0.0": 65, "6.0.0": 66, "main": 65}}
"""Lines of the test of strides, by the type of the weights."""


def _points(
    kind: str, point: Condition, outer: dict[str, int], slow: dict[str, int], until: str = ""
) -> tuple[Branch, Branch]:
    """The fast and the slow 1x1 kernel; lines are those of the outer `if` and of the slow one's `else`."""
    wrapper = f"arm_convolve_wrapper_{kind}"
    tests = OuterTest(point, outer), OuterTest(UNIT_STRIDE, _UNIT_LINES[kind])
    fast, plain = kernel_at(wrapper, outer, until=until), kernel_at(wrapper, slow, until=until)
    return (
        Branch(f"arm_convolve_1x1_{kind}_fast", all_of(point, UNIT_STRIDE), fast, tests=tests),
        Branch(f"arm_convolve_1x1_{kind}", point, plain, tests=tests[:1]),
    )


CONVOLVE_S4_ROUTE = Wrapper(
    entry="convolve_s4",
    function=_S4_FUNCTION,
    branches=(
        *_points("s4", POINT, dict.fromkeys(_S4_UP_TO_7, 62), dict.fromkeys(_S4_UP_TO_7, 79), "main"),
        *_points("s4", all_of(POINT, NOT_GROUPED), {"main": 63}, {"main": 79}),
        _s4_branch("arm_convolve_1_x_n_s4", _S4_ONE_ROW, {"6.0.0": 94, "7.0.0": 94, "main": 94}),
        _s4_branch("arm_convolve_even_s4", equal(COLS % 2, 0), {"7.0.0": 110, "main": 109}, isas=MVE_ONLY),
        _s4_branch("arm_convolve_s4", TRUE, {"5.0.0": 94, "6.0.0": 109, "7.0.0": 125, "main": 124}),
    ),
    sizes=CONVOLVE_S4,
    absent="s4 convolution came with 5.0.0",
)

_S8_FUNCTION = "arm_convolve_wrapper_s8"

_UNIT_1X1 = all_of(NO_PADDING, UNIT_STRIDE, FILTER_1X1)
_S8_ONE_ROW = all_of(equal(IN.h, 1), equal(DILATION.w, 1), equal(FILTER.h, 1))
_STEP_BY_4 = equal(STRIDE.w * IN.c % 4, 0)


def _s8_branch(kernel: str, when: Condition, lines: dict[str, int], until: str = "") -> Branch:
    return Branch(kernel, when, kernel_at(_S8_FUNCTION, lines, until=until))


CONVOLVE_S8_ROUTE = Wrapper(
    entry="convolve_s8",
    function=_S8_FUNCTION,
    branches=(
        _s8_branch("arm_convolve_1x1_s8_fast", all_of(_UNIT_1X1, equal(IN.c % 4, 0)), {V5_8: 62}, V5_9),
        _s8_branch(
            "arm_convolve_1x1_s8_fast", all_of(_UNIT_1X1, equal(IN.c % 4, 0), UNIT_DILATION), {V5_9: 62}, "4.0.0"
        ),
        *_points(
            "s8", POINT, {"4.0.0": 62, "4.1.0": 62, "5.0.0": 62}, {"4.0.0": 79, "4.1.0": 79, "5.0.0": 79}, "6.0.0"
        ),
        *_points(
            "s8",
            all_of(POINT, NOT_GROUPED),
            {"6.0.0": 62, "7.0.0": 62, "main": 63},
            {"6.0.0": 80, "7.0.0": 80, "main": 79},
        ),
        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(equal(OUT.h, 1), equal(IN.h, 1), equal(FILTER.h, 1), WIDTH_BY_4, equal(IN.n, 1)),
            {V5_8: 77},
            V5_9,
        ),
        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(equal(OUT.h, 1), _S8_ONE_ROW, WIDTH_BY_4, equal(IN.n, 1), equal(DILATION.h, 1)),
            {V5_9: 78},
            "4.0.0",
        ),
        _s8_branch("arm_convolve_1_x_n_s8", all_of(_S8_ONE_ROW, WIDTH_BY_4), {"4.0.0": 94}, "4.1.0"),
        _s8_branch("arm_convolve_1_x_n_s8", all_of(_S8_ONE_ROW, _STEP_BY_4), {"4.1.0": 94, "5.0.0": 94}, "6.0.0"),
        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(_S8_ONE_ROW, _STEP_BY_4, NOT_GROUPED),
            {"6.0.0": 95, "7.0.0": 95, "main": 94},
        ),
        _s8_branch(
            "arm_convolve_s8",
            TRUE,
            {V5_8: 92, V5_9: 93, "4.0.0": 108, "4.1.0": 109, "5.0.0": 109, "6.0.0": 110, "7.0.0": 110, "main": 108},
        ),
    ),
    sizes=CONVOLVE_S8,
)
