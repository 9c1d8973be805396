"""Convolutions of s8, s16 and s4: routes, scratch, hazards, cost."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    ASYM_PAD,
    BIAS,
    COLS,
    COLUMNS_FIT,
    CTX_SIZE,
    DILATION_H,
    DILATION_W,
    FILTER_1X1,
    FILTER_C,
    FILTER_H,
    FILTER_W,
    IN_C,
    IN_H,
    IN_N,
    IN_W,
    LEFT_PAD_NUM,
    NARROW_OUTPUT,
    NO_PAD_NUM,
    NO_PADDING,
    NOT_GROUPED,
    OUT_C,
    OUT_H,
    OUT_W,
    PAD_AFTER_H,
    PAD_AFTER_W,
    PAD_H,
    PAD_W,
    PADDING_ACCEPTED,
    RIGHT_PAD_NUM,
    STRIDE_H,
    STRIDE_W,
    TAPS,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import (
    TRUE,
    Condition,
    all_of,
    any_of,
    at_least,
    at_most,
    equal,
    greater,
    less,
    not_,
    unequal,
)
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.loops.convolve_s16 import SHORT
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    DSP_ONLY,
    MVE_ONLY,
    NOT_MVE,
    RETRAIN,
    Branch,
    Origin,
    OuterTest,
    ScratchSize,
    Wrapper,
    kernel_at,
    size,
    within,
)
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, minimum, named, round_up
from onnxlint_cmsis.ground.types import Isa

# Scratch sizes of the convolution wrappers s8, s16 and s4.


_GENERAL = "arm_convolve_s8_get_buffer_size"
_S8_GENERAL = (
    size(0, within(_GENERAL, V5_8, (Isa.SCALAR,), until=V5_9)),
    size(4 * COLS, within(_GENERAL, V5_8, (Isa.DSP, Isa.MVE), until=V5_9)),
    size(4 * COLS, within(_GENERAL, V5_9, NOT_MVE, until="5.0.0")),
    size(4 * round_up(COLS, 4), within(_GENERAL, "5.0.0", NOT_MVE)),
    size(4 * round_up(COLS, 8), within(_GENERAL, V5_9, MVE_ONLY, until="6.0.0")),
    size(4 * round_up(COLS, 16), within(_GENERAL, "6.0.0", MVE_ONLY)),
)

_POINT = all_of(NO_PADDING, FILTER_1X1, UNIT_DILATION)
_POINT_5_8 = all_of(NO_PADDING, UNIT_STRIDE, FILTER_1X1, equal(IN_C % 4, 0))
_FAST = "arm_convolve_1x1_s8_fast_get_buffer_size"
_WRAPPER = "arm_convolve_wrapper_s8_get_buffer_size"
_ARMCLANG = ("armclang",)
_S8_POINT = (
    size(0, within(_FAST, V5_8, until=V5_9), _POINT_5_8),
    size(0, within(_FAST, V5_9, until="4.0.0"), all_of(_POINT_5_8, UNIT_DILATION)),
    size(4 * IN_C, within(_FAST, "7.0.0", DSP_ONLY, _ARMCLANG, "main"), all_of(_POINT, UNIT_STRIDE)),
    size(4 * IN_C, within(_FAST, "main", DSP_ONLY, _ARMCLANG), all_of(_POINT, NOT_GROUPED, UNIT_STRIDE)),
    size(0, within(_WRAPPER, "4.0.0", until="main"), _POINT),
    size(0, within(_WRAPPER, "main"), all_of(_POINT, NOT_GROUPED)),
)

_WIDTH_BY_4 = equal(OUT_W % 4, 0)
_ROW = all_of(equal(IN_H, 1), equal(DILATION_W, 1), equal(FILTER_H, 1))
_ROW_5_8 = all_of(equal(OUT_H, 1), equal(IN_H, 1), equal(FILTER_H, 1), _WIDTH_BY_4, equal(IN_N, 1))
_ROW_BY_STEP = all_of(_ROW, equal(STRIDE_W * IN_C % 4, 0))
_1_X_N = "arm_convolve_1_x_n_s8_get_buffer_size"


def _strips(row: Condition, since: str, until: str = "") -> tuple[ScratchSize, ...]:
    """The longer of the left and the right strip; an output too narrow for both goes on to the general case."""
    fits = all_of(row, COLUMNS_FIT)
    left = (FILTER_W + PAD_W) * IN_C
    uneven = (FILTER_W - 1 + RIGHT_PAD_NUM) * IN_C
    even = (FILTER_W - 1 + PAD_W) * IN_C
    origin = within(_1_X_N, since, MVE_ONLY, until=until)
    return (
        size(maximum(left, uneven), origin, all_of(fits, unequal(ASYM_PAD, 0))),
        size(maximum(left, even), origin, all_of(fits, equal(ASYM_PAD, 0))),
    )


_S8_ROW = (
    size(0, within(_1_X_N, V5_8, MVE_ONLY, until=V5_9), _ROW_5_8),
    size(0, within(_1_X_N, V5_9, MVE_ONLY, until="4.0.0"), all_of(_ROW_5_8, UNIT_DILATION)),
    size(0, within(_1_X_N, "4.0.0", MVE_ONLY, until="4.1.0"), all_of(_ROW, _WIDTH_BY_4)),
    size(0, within(_1_X_N, "4.1.0", MVE_ONLY, until="6.0.0"), _ROW_BY_STEP),
    *_strips(_ROW_BY_STEP, "6.0.0", "main"),
    *_strips(all_of(_ROW_BY_STEP, NOT_GROUPED), "main"),
)

CONVOLVE_S8 = (*_S8_POINT, *_S8_ROW, *_S8_GENERAL)

_S16 = "arm_convolve_s16_get_buffer_size"
_FAST_S16 = "arm_convolve_fast_s16_get_buffer_size"
CONVOLVE_S16 = (
    size(4 * COLS, within(_FAST_S16, V5_9, DSP_ONLY, until="6.0.0"), all_of(less(COLS, 512), UNIT_DILATION)),
    size(0, within(_S16, V5_9, until="6.0.0")),
    size(4 * COLS, within(_S16, "6.0.0", NOT_MVE)),
    size(8 * round_up(COLS, 8), within(_S16, "6.0.0", MVE_ONLY)),
)

_SCRATCH_WRAPPER_S4 = "arm_convolve_wrapper_s4_get_buffer_size"
_SCRATCH_S4 = "arm_convolve_s4_get_buffer_size"
_1_X_N_S4 = "arm_convolve_1_x_n_s4_get_buffer_size"
CONVOLVE_S4 = (
    size(0, within(_SCRATCH_WRAPPER_S4, "5.0.0", until="main"), _POINT),
    size(0, within(_SCRATCH_WRAPPER_S4, "main"), all_of(_POINT, NOT_GROUPED)),
    size(4 * COLS, within(_SCRATCH_S4, "5.0.0", until="6.0.0")),
    size(4 * COLS, within(_SCRATCH_S4, "6.0.0", NOT_MVE)),
    *_strips(_ROW_BY_STEP, "6.0.0", "main"),
    size(0, within(_1_X_N_S4, "main", MVE_ONLY), all_of(_ROW_BY_STEP, NOT_GROUPED, COLUMNS_FIT)),
    size(4 * round_up(COLS, 16), within(_SCRATCH_S4, "6.0.0", MVE_ONLY)),
)


# arm_convolve_wrapper_s16: the fast kernel on dsp up to 5.0.0, the general one else.


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


# arm_convolve_wrapper_s4: 1x1, 1xN, even number of weights per output on MVE, or the general kernel.


_S4_UP_TO_7 = ("5.0.0", "6.0.0", "7.0.0")
_S4_FUNCTION = "arm_convolve_wrapper_s4"
_S4_ONE_ROW = all_of(
    equal(IN_H, 1), equal(DILATION_W, 1), equal(FILTER_H, 1), equal(STRIDE_W * IN_C % 4, 0), NOT_GROUPED
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
        *_points("s4", _POINT, dict.fromkeys(_S4_UP_TO_7, 62), dict.fromkeys(_S4_UP_TO_7, 79), "main"),
        *_points("s4", all_of(_POINT, NOT_GROUPED), {"main": 63}, {"main": 79}),
        _s4_branch("arm_convolve_1_x_n_s4", _S4_ONE_ROW, {"6.0.0": 94, "7.0.0": 94, "main": 94}),
        _s4_branch("arm_convolve_even_s4", equal(COLS % 2, 0), {"7.0.0": 110, "main": 109}, isas=MVE_ONLY),
        _s4_branch("arm_convolve_s4", TRUE, {"5.0.0": 94, "6.0.0": 109, "7.0.0": 125, "main": 124}),
    ),
    sizes=CONVOLVE_S4,
    absent="s4 convolution came with 5.0.0",
)


# arm_convolve_wrapper_s8: 1x1, 1xN or the general kernel.


_S8_FUNCTION = "arm_convolve_wrapper_s8"

_UNIT_1X1 = all_of(NO_PADDING, UNIT_STRIDE, FILTER_1X1)
_S8_ONE_ROW = all_of(equal(IN_H, 1), equal(DILATION_W, 1), equal(FILTER_H, 1))
_STEP_BY_4 = equal(STRIDE_W * IN_C % 4, 0)


def _s8_branch(kernel: str, when: Condition, lines: dict[str, int], until: str = "") -> Branch:
    return Branch(kernel, when, kernel_at(_S8_FUNCTION, lines, until=until))


CONVOLVE_S8_ROUTE = Wrapper(
    entry="convolve_s8",
    function=_S8_FUNCTION,
    branches=(
        _s8_branch("arm_convolve_1x1_s8_fast", all_of(_UNIT_1X1, equal(IN_C % 4, 0)), {V5_8: 62}, V5_9),
        _s8_branch(
            "arm_convolve_1x1_s8_fast", all_of(_UNIT_1X1, equal(IN_C % 4, 0), UNIT_DILATION), {V5_9: 62}, "4.0.0"
        ),
        *_points(
            "s8", _POINT, {"4.0.0": 62, "4.1.0": 62, "5.0.0": 62}, {"4.0.0": 79, "4.1.0": 79, "5.0.0": 79}, "6.0.0"
        ),
        *_points(
            "s8",
            all_of(_POINT, NOT_GROUPED),
            {"6.0.0": 62, "7.0.0": 62, "main": 63},
            {"6.0.0": 80, "7.0.0": 80, "main": 79},
        ),
        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(equal(OUT_H, 1), equal(IN_H, 1), equal(FILTER_H, 1), _WIDTH_BY_4, equal(IN_N, 1)),
            {V5_8: 77},
            V5_9,
        ),
        _s8_branch(
            "arm_convolve_1_x_n_s8",
            all_of(equal(OUT_H, 1), _S8_ONE_ROW, _WIDTH_BY_4, equal(IN_N, 1), equal(DILATION_H, 1)),
            {V5_9: 78},
            "4.0.0",
        ),
        _s8_branch("arm_convolve_1_x_n_s8", all_of(_S8_ONE_ROW, _WIDTH_BY_4), {"4.0.0": 94}, "4.1.0"),
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


# The general convolution kernels: groups, dilation, 16-bit variables.


_CONVOLUTION_S8 = "arm_convolve_s8"
_CONVOLUTION_ENTRIES_S8 = ("convolve_s8", "depthwise_s8", "transpose_conv_s8")

_GROUPED = unequal(IN_C, FILTER_C)
_GROUPS = named("groups", IN_C // FILTER_C)
_GROUP_COLS = TAPS * FILTER_C
_PIXELS = OUT_H * OUT_W
_ODD_PIXEL = equal(_PIXELS % 2, 1)
_LARGEST, _LARGEST_BY_4 = 65535, 4 * 65535 + 3
# arm_convolve_s8 on MVE fills up to 4 rows of one group, each aligned to 4 bytes, the last to its end alone.
_WRITTEN = named("bytes_written", (minimum(_PIXELS, 4) - 1) * round_up(_GROUP_COLS, 4) + _GROUP_COLS)


_DEF_S8 = {V5_8: 51, V5_9: 51, "4.0.0": 51, "4.1.0": 50, "5.0.0": 50, "6.0.0": 49, "7.0.0": 49, "main": 49}
_FROM_6 = {release: _DEF_S8[release] for release in ("6.0.0", "7.0.0", "main")}
# The wrappers choose a kernel without a look at filter_dims.c or, in 5.8.0, at the dilation; the choice opens here.
_WRAPPER_S8 = {V5_8: 62, V5_9: 62, "4.0.0": 62, "4.1.0": 62, "5.0.0": 62}
_WRAPPER_S16 = {V5_9: 63, "4.0.0": 63, "4.1.0": 63, "5.0.0": 63, "6.0.0": 62, "7.0.0": 62, "main": 62}
_HAZARDS_WRAPPER_S4 = {"5.0.0": 62, "6.0.0": 62, "7.0.0": 62, "main": 63}


_KEPT_IN_16_BITS = (IN_H, IN_W, IN_C, FILTER_H, FILTER_W, OUT_H, OUT_W, OUT_C, STRIDE_H, STRIDE_W, PAD_H, PAD_W)


def _columns(name: str, origin: Origin, guard: Condition, breach: Condition, what: str) -> Hazard:
    """A count of filter_dims.h * filter_dims.w * input_dims.c that is kept in 16 bits, where `guard` holds."""
    return Hazard(
        id=name,
        kind="too-large",
        entries=_CONVOLUTION_ENTRIES_S8,
        origin=origin,
        when=all_of(guard, breach),
        brief="cuts the number of columns off to 16 bits",
        what=what,
        breach=breach,
    )


def _odd_column(name: str, isa: Isa, lines: dict[str, int], columns: Term, until: str = "") -> Hazard:
    """The loop over the pixel that an odd number of output pixels leaves over; dsp code counts in steps of 4."""
    breach = greater(columns, _LARGEST_BY_4 if isa is Isa.DSP else _LARGEST)
    what = "For the last of an odd number of output pixels the columns are counted in a 16-bit variable."
    return _columns(name, kernel_at(_CONVOLUTION_S8, lines, (isa,), until), _ODD_PIXEL, breach, what)


_PAIRS = "The columns of two output pixels at a time are counted in a 16-bit parameter."
# Up to 4.1.0 arm_nn_mat_mult_kernel_s8_s16 takes the count as uint16_t (4.0.0: line 48), from 5.0.0 on as int32_t.
_UP_TO_4_1 = {V5_9: 51, "4.0.0": 235, "4.1.0": 50}
_TOO_MANY = greater(COLS, _LARGEST)
# One pixel alone is left over, which dsp code counts in steps of 4.
_PAIR_OR_MORE = any_of(greater(_PIXELS, 1), greater(COLS, _LARGEST_BY_4))

_GROUPED_AS_DENSE = Hazard(
    id="conv-grouped-as-dense",
    kind="wrong-result",
    entries=("convolve_s8",),
    of_kernels=(),
    origin=kernel_at("arm_convolve_wrapper_s8", _WRAPPER_S8, until="6.0.0"),
    when=_GROUPED,
    brief="computes the grouped layer as a dense one",
    what="No kernel of this release reads filter_dims.c: a grouped convolution is computed as a dense one.",
    way_round="Split the layer into one convolution per group.",
)
CONVOLUTION_HAZARDS = (
    Hazard(
        id="conv-dilation-ignored",
        kind="wrong-result",
        entries=("convolve_s8", "depthwise_s8"),
        of_kernels=(),
        origin=kernel_at("arm_convolve_wrapper_s8", {V5_8: 62}, until=V5_9),
        when=any_of(greater(DILATION_H, 1), greater(DILATION_W, 1)),
        brief="computes the dilated layer undilated",
        what="No kernel of this release reads the dilation: a dilated layer is computed undilated.",
    ),
    _GROUPED_AS_DENSE,
    _GROUPED_AS_DENSE._replace(
        id="conv-s16-grouped-as-dense",
        entries=("convolve_s16",),
        origin=kernel_at("arm_convolve_wrapper_s16", _WRAPPER_S16),
        what="No s16 kernel reads filter_dims.c: a grouped convolution is computed as a dense one.",
    ),
    Hazard(
        id="conv-s16-odd-channel-columns",
        kind="wrong-result",
        entries=("convolve_s16",),
        of_kernels=("arm_convolve_s16",),
        origin=kernel_at("arm_nn_mat_mult_kernel_s16", dict.fromkeys(_FROM_6, 269), (Isa.DSP,)),
        when=all_of(greater(COLS, SHORT), unequal(COLS % 4, 0), equal(OUT_C % 2, 1), greater(_PIXELS, 1)),
        brief="adds what lies behind the weights to the last of an odd number of output channels",
        what=(
            "With a 64-bit bias the columns above 512 are added by a second loop, which begins too late for the last of"
            " an odd number of output channels: wrong wherever the bytes behind the weights are not zero."
        ),
        way_round="Take an even number of output channels.",
    ),
    _GROUPED_AS_DENSE._replace(
        id="conv-s4-grouped-as-dense",
        entries=("convolve_s4",),
        origin=kernel_at("arm_convolve_wrapper_s4", _HAZARDS_WRAPPER_S4),
        what="The s4 kernels compute no groups: a grouped convolution is computed as a dense one.",
    ),
    Hazard(
        id="conv-grouped-no-scratch",
        kind="returns-error",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLUTION_S8, {"6.0.0": 63, "7.0.0": 64}, until="main"),
        when=all_of(_GROUPED, equal(CTX_SIZE, 0)),
        reported="pull request 200",
        brief="returns ARM_CMSIS_NN_ARG_ERROR for want of a buffer",
        what="The size function answers 0 for a grouped 1x1 layer, but arm_convolve_s8 runs it and returns "
        "ARM_CMSIS_NN_ARG_ERROR without a buffer.",
        breach=_GROUPED,
        way_round="Split the layer into one convolution per group.",
        status=-1,
    ),
    Hazard(
        id="conv-groups-undefined",
        kind="returns-error",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLUTION_S8, {"6.0.0": 98, "7.0.0": 99, "main": 99}),
        when=any_of(equal(FILTER_C, 0), greater(FILTER_C, IN_C)),
        brief="divides by zero",
        what="The kernel divides by filter_dims.c and by the number of groups, one of which is zero: a Cortex-M that "
        "does not trap this goes on with 0 and returns ARM_CMSIS_NN_ARG_ERROR.",
        status=None,
    ),
    Hazard(
        id="conv-groups-not-even",
        kind="returns-error",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLUTION_S8, {"6.0.0": 98, "7.0.0": 99, "main": 99}),
        when=any_of(unequal(IN_C % _GROUPS, 0), unequal(OUT_C % _GROUPS, 0)),
        brief="returns ARM_CMSIS_NN_ARG_ERROR for these groups",
        what="The channels do not divide by the number of groups: ARM_CMSIS_NN_ARG_ERROR.",
        way_round=f"Choose input and output channels that the number of groups divides. This {RETRAIN}.",
        status=-1,
    ),
    Hazard(
        id="conv-grouped-1xn-scratch",
        kind="overrun",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLUTION_S8, {"6.0.0": 49, "7.0.0": 49}, MVE_ONLY, "main"),
        when=all_of(_GROUPED, greater(CTX_SIZE, 0), greater(_WRITTEN, CTX_SIZE)),
        reported="pull request 200",
        brief="writes past its scratch buffer",
        what="The size function answers the 1xN kernel's size for a grouped 1xN layer, but arm_convolve_s8 runs it "
        "and writes past that buffer.",
        breach=greater(_WRITTEN, CTX_SIZE),
        way_round="Split the layer into one convolution per group.",
    ),
    Hazard(
        id="conv-grouped-no-bias",
        kind="wrong-result",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLUTION_S8, {"6.0.0": 331, "7.0.0": 384, "main": 384}),
        when=all_of(_GROUPED, equal(BIAS, 0)),
        brief="adds what lies at low addresses to all groups but the first, where the caller passes NULL for the bias",
        what="The layer has no bias. The kernel advances the bias pointer for each group, also where it is NULL, so "
        "that all groups but the first add what lies at low addresses: status SUCCESS, wrong values.",
        breach=TRUE,
        way_round="Give the layer a bias of zeros.",
    ),
    Hazard(
        id="conv-16-bit-sizes",
        kind="too-large",
        entries=_CONVOLUTION_ENTRIES_S8,
        origin=kernel_at(_CONVOLUTION_S8, _DEF_S8),
        when=any_of(*(greater(size, _LARGEST) for size in _KEPT_IN_16_BITS)),
        brief="cuts a size off to 16 bits",
        what="Sizes, strides and paddings are kept in 16-bit variables.",
    ),
    # Plain C code of 5.8.0 multiplies without im2col and counts in 32 bits.
    _columns(
        "conv-16-bit-columns-plain",
        kernel_at(_CONVOLUTION_S8, _UP_TO_4_1, (Isa.SCALAR,), "5.0.0"),
        TRUE,
        _TOO_MANY,
        _PAIRS,
    ),
    _columns(
        "conv-16-bit-columns-dsp",
        kernel_at(_CONVOLUTION_S8, {V5_8: 51, **_UP_TO_4_1}, (Isa.DSP,), "5.0.0"),
        _PAIR_OR_MORE,
        _TOO_MANY,
        _PAIRS,
    ),
    _odd_column("conv-16-bit-odd-column-plain-5", Isa.SCALAR, {"5.0.0": 50}, COLS, "6.0.0"),
    _odd_column("conv-16-bit-odd-column-dsp-5", Isa.DSP, {"5.0.0": 50}, COLS, "6.0.0"),
    _odd_column("conv-16-bit-odd-column-plain", Isa.SCALAR, _FROM_6, _GROUP_COLS),
    _odd_column("conv-16-bit-odd-column-dsp", Isa.DSP, _FROM_6, _GROUP_COLS),
)


# The 1xN kernels on MVE: geometries they refuse, and geometries the s8 kernel computes wrongly.


_ONE_BY_N_S8, _S4 = "arm_convolve_1_x_n_s8", "arm_convolve_1_x_n_s4"
_ONE_BY_N_ENTRIES_S8 = ("convolve_s8", "depthwise_s8")
_IN_ASSEMBLY = (
    "the kernel works out a negative length for it, and its inline assembly reads outside the input. The C code that "
    "ARM_MATH_AUTOVECTORIZE takes is right."
)

# Columns that each strip computes, left to right, and the inputs left at the first right-padded one.
_AVAILABLE = named("inputs_left", IN_W - ((LEFT_PAD_NUM + NO_PAD_NUM) * STRIDE_W - PAD_W))


def _window_end(columns: Term, name: str) -> Term:
    """One past the last input that the first `columns` output columns read."""
    return named(name, (columns - 1) * STRIDE_W - PAD_W + FILTER_W)


_LEFT_END = _window_end(LEFT_PAD_NUM, "end_of_left_columns")
_MIDDLE_END = _window_end(LEFT_PAD_NUM + NO_PAD_NUM, "end_of_middle_columns")
_ZEROS_NEEDED = named("zeros_needed", (RIGHT_PAD_NUM - 1) * STRIDE_W + 1)


# The right strip holds exactly filter_w - 1 inputs and then its zeros: asym_pad != 0 gives one per right column,
# otherwise padding.w of them. Its first column needs those inputs to be all that is left, its last column the zeros.
_RIGHT_STRIP = all_of(
    at_most(_AVAILABLE, FILTER_W - 1),
    any_of(equal(FILTER_W, 1), at_least(_AVAILABLE, FILTER_W - 1)),
    any_of(
        all_of(unequal(ASYM_PAD, 0), at_most(_ZEROS_NEEDED, RIGHT_PAD_NUM)),
        all_of(equal(ASYM_PAD, 0), at_most(_ZEROS_NEEDED, PAD_W)),
    ),
)
_RIGHT_VALUES = all_of(
    any_of(equal(LEFT_PAD_NUM, 0), at_most(_LEFT_END, IN_W)),
    any_of(equal(NO_PAD_NUM, 0), at_most(_MIDDLE_END, IN_W)),
    any_of(equal(RIGHT_PAD_NUM, 0), _RIGHT_STRIP),
)
WRONG_VALUES = all_of(PADDING_ACCEPTED, COLUMNS_FIT, not_(_RIGHT_VALUES))
"""All geometries, and no other ones, where some tap reads a wrong input."""


_LAST_WINDOW = named("start_of_last_window", (OUT_W - 1) * STRIDE_W - PAD_W)
_SEVERAL_ROWS = any_of(unequal(OUT_H, 1), unequal(PAD_H, 0))
_DEF_1_X_N = {V5_8: 50, V5_9: 50, "4.0.0": 50, "4.1.0": 50, "5.0.0": 50}
_DEF_1_X_N_6 = {"6.0.0": 48, "7.0.0": 48, "main": 48}
_DEF_1_X_N_S4 = {"6.0.0": 49, "7.0.0": 49, "main": 49}


_GEOMETRY_REFUSED = Hazard(
    id="conv-1xn-geometry-refused",
    kind="returns-error",
    entries=_ONE_BY_N_ENTRIES_S8,
    origin=kernel_at(_ONE_BY_N_S8, {"4.1.0": 86, "5.0.0": 86, "6.0.0": 83, "7.0.0": 83, "main": 83}, MVE_ONLY),
    when=not_(PADDING_ACCEPTED),
    brief="returns ARM_CMSIS_NN_FAILURE for this padding",
    what="On MVE the kernel returns ARM_CMSIS_NN_FAILURE unless padding.w is half of all the padding along the width "
    "(total_pad, what the output's width implies, before and after), rounded towards zero.",
    status=-3,
)
_NARROW_OUTPUT_REFUSED = Hazard(
    id="conv-1xn-narrow-output-refused",
    kind="returns-error",
    entries=_ONE_BY_N_ENTRIES_S8,
    origin=kernel_at(_ONE_BY_N_S8, {"4.1.0": 94, "5.0.0": 94}, MVE_ONLY, "6.0.0"),
    when=NARROW_OUTPUT,
    reported="issue 109",
    brief="returns ARM_CMSIS_NN_FAILURE for so narrow an output",
    what="On MVE the kernel returns ARM_CMSIS_NN_FAILURE where the output is narrower than the columns that padding "
    "touches.",
    status=-3,
)
_ONE_ROW = Hazard(
    id="conv-1xn-one-row",
    kind="wrong-result",
    entries=_ONE_BY_N_ENTRIES_S8,
    origin=kernel_at(_ONE_BY_N_S8, _DEF_1_X_N_6, MVE_ONLY),
    when=all_of(COLUMNS_FIT, _SEVERAL_ROWS),
    breach=_SEVERAL_ROWS,
    brief="computes one row of the output, as if no row were padded",
    what="The wrapper chooses the kernel by the heights of input and window. On MVE the kernel reads neither padding.h "
    "nor output_dims.h and computes one row per image, that of the input: status SUCCESS, wrong values where rows are "
    "padded above or below.",
    way_round="Let the runtime pad in a separate layer.",
)
ONE_BY_N_HAZARDS = (
    _GEOMETRY_REFUSED,
    _NARROW_OUTPUT_REFUSED,
    _ONE_ROW,
    _ONE_ROW._replace(
        id="conv-1xn-one-row-5",
        origin=kernel_at(_ONE_BY_N_S8, _DEF_1_X_N, MVE_ONLY, "6.0.0"),
        when=_SEVERAL_ROWS,
    ),
    Hazard(
        id="conv-1xn-window-in-padding",
        kind="overrun",
        entries=_ONE_BY_N_ENTRIES_S8,
        origin=kernel_at(_ONE_BY_N_S8, {"4.0.0": 103}, MVE_ONLY, "4.1.0"),
        when=any_of(greater(PAD_W, FILTER_W), greater(_LAST_WINDOW, IN_W)),
        brief="reads outside the input",
        what=f"A window lies wholly in the padding on the left or on the right; {_IN_ASSEMBLY}",
        assembly=True,
        way_round=f"Let the runtime pad in a separate layer. Less padding works, too, but {RETRAIN}.",
    ),
    Hazard(
        id="conv-1xn-window-outside",
        kind="overrun",
        entries=_ONE_BY_N_ENTRIES_S8,
        origin=kernel_at(_ONE_BY_N_S8, {"4.1.0": 72, "5.0.0": 72}, MVE_ONLY, "6.0.0"),
        when=greater(_LAST_WINDOW, IN_W),
        brief="reads outside the input",
        what=f"The last window lies wholly in the padding on the right; {_IN_ASSEMBLY}",
        assembly=True,
    ),
    Hazard(
        id="conv-1xn-wrong-values",
        kind="wrong-result",
        entries=_ONE_BY_N_ENTRIES_S8,
        origin=kernel_at(_ONE_BY_N_S8, {"6.0.0": 187, "7.0.0": 188, "main": 188}, MVE_ONLY),
        when=WRONG_VALUES,
        breach=not_(_RIGHT_VALUES),
        brief="gives wrong values in the padded columns",
        what="On MVE the kernel builds the padded columns from a strip that does not hold the inputs they need: "
        "status SUCCESS, wrong values.",
    ),
    _GEOMETRY_REFUSED._replace(
        id="conv-1xn-s4-geometry-refused",
        entries=("convolve_s4",),
        origin=kernel_at(_S4, {"6.0.0": 85, "7.0.0": 85, "main": 84}, MVE_ONLY),
    ),
    _NARROW_OUTPUT_REFUSED._replace(
        id="conv-1xn-s4-narrow-output-refused",
        entries=("convolve_s4",),
        origin=kernel_at(_S4, {"6.0.0": 94, "7.0.0": 94, "main": 93}, MVE_ONLY),
        reported="",
    ),
    _ONE_ROW._replace(
        id="conv-1xn-s4-one-row",
        entries=("convolve_s4",),
        origin=kernel_at(_S4, _DEF_1_X_N_S4, MVE_ONLY),
        when=_SEVERAL_ROWS,
    ),
)


# The 1x1 convolution kernels, which know no padding after.


_NO_PAD_AFTER = f"Let the runtime pad in a separate layer. A padding of 0 after works, too, but {RETRAIN}."

# What is asked for after reaches at least that far less stride - 1, and never farther.
_AFTER_FAST = any_of(unequal(PAD_AFTER_H, 0), unequal(PAD_AFTER_W, 0))
_PAST_H, _PAST_W = at_least((OUT_H - 1) * STRIDE_H, IN_H), at_least((OUT_W - 1) * STRIDE_W, IN_W)
_PAST = any_of(_PAST_H, _PAST_W)
_AFTER = any_of(
    all_of(at_least(PAD_AFTER_H, 1), any_of(at_least(PAD_AFTER_H, STRIDE_H), _PAST_H)),
    all_of(at_least(PAD_AFTER_W, 1), any_of(at_least(PAD_AFTER_W, STRIDE_W), _PAST_W)),
)


_DEF_FAST = {V5_8: 53, V5_9: 54, "4.0.0": 73, "4.1.0": 50, "5.0.0": 50, "6.0.0": 50, "7.0.0": 49, "main": 49}
_DEF_1X1 = {"4.0.0": 86, "4.1.0": 50, "5.0.0": 50, "6.0.0": 50, "7.0.0": 50, "main": 50}
_DEF_S4 = {"5.0.0": 50, "6.0.0": 50, "7.0.0": 50, "main": 50}

_FAST_PADDING_AFTER = Hazard(
    id="conv-1x1-fast-padding-after",
    kind="wrong-result",
    entries=("convolve_s8", "depthwise_s8"),
    origin=kernel_at("arm_convolve_1x1_s8_fast", _DEF_FAST),
    when=any_of(unequal(OUT_H, IN_H), unequal(OUT_W, IN_W)),
    unsized=_AFTER_FAST,
    brief="puts values in the wrong places where there is padding after",
    what="The fast 1x1 kernel never reads output_dims: with padding after, every value behind the first row is "
    "in the wrong place.",
    way_round=_NO_PAD_AFTER,
)
_PADDING_AFTER = Hazard(
    id="conv-1x1-padding-after",
    kind="wrong-result",
    entries=("convolve_s8", "depthwise_s8"),
    origin=kernel_at("arm_convolve_1x1_s8", _DEF_1X1),
    when=_PAST,
    unsized=_AFTER,
    brief="reads past the row where there is padding after",
    what="The 1x1 kernel knows no padding after: the last windows read past the row or the input.",
    way_round=_NO_PAD_AFTER,
)
ONE_BY_ONE_HAZARDS = (
    _FAST_PADDING_AFTER,
    _PADDING_AFTER,
    _FAST_PADDING_AFTER._replace(
        id="conv-1x1-s4-fast-padding-after",
        entries=("convolve_s4",),
        origin=kernel_at("arm_convolve_1x1_s4_fast", _DEF_S4),
        what="The fast s4 1x1 kernel never reads the output's height and width: with padding after, the values are "
        "in the wrong places.",
    ),
    _PADDING_AFTER._replace(
        id="conv-1x1-s4-padding-after",
        entries=("convolve_s4",),
        origin=kernel_at("arm_convolve_1x1_s4", _DEF_S4),
        what="The s4 1x1 kernel knows no padding after: the last windows read past the row or the input.",
    ),
)
