"""Depthwise convolutions of s8, s16 and s4: routes, scratch, hazards, cost."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    BIAS,
    CH_MULT,
    COLS,
    DILATION_H,
    DILATION_W,
    FILTER_C,
    FILTER_H,
    FILTER_N,
    FILTER_W,
    IN_C,
    IN_H,
    IN_N,
    IN_W,
    OUT_C,
    OUT_H,
    OUT_W,
    PAD_AFTER_H,
    PAD_AFTER_W,
    PAD_H,
    PAD_W,
    STRIDE_H,
    STRIDE_W,
    TAPS,
    UNIT_DILATION,
)
from onnxlint_cmsis.cmsis_nn.compiler_defects import CONSTANT_PREDICATES
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
    unequal,
)
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.integer.convolution import CONVOLVE_S8
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9, later, outlives
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
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, named
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

# Scratch sizes of the depthwise wrappers s8, s16 and s4.


TRANSPOSED_FILTER = (("filter_dims.n", FILTER_C), ("filter_dims.c", FILTER_N))
"""How arm_depthwise_conv_wrapper_s8 shows its filter to arm_convolve_wrapper_s8 (7.0.0 on, MVE)."""

_FAST = all_of(equal(CH_MULT, 1), UNIT_DILATION)
FAST_S16_4_0 = all_of(_FAST, less(COLS, 512))
"""USE_FAST_DW_CONV_FUNCTION of 4.0.0 (arm_depthwise_conv_wrapper_s16.c:34-36)."""
FAST_S16 = all_of(_FAST, less(TAPS, 512))
"""USE_FAST_DW_CONV_FUNCTION from 4.1.0 on (arm_nnsupportfunctions.h:43-45)."""

_WRAPPER = "arm_depthwise_conv_wrapper_s8_get_buffer_size"
_SCRATCH_OPT = "arm_depthwise_conv_s8_opt_get_buffer_size"


_TO_CONV_SINCE = "7.0.0"


def _scratch_to_conv(threshold: int, compiler: str) -> tuple[ScratchSize, ...]:
    """Depthwise as convolution (7.0.0 on, MVE): the convolution's size and room for the transposed weights."""
    binds = dict(TRANSPOSED_FILTER)
    taken = all_of(equal(IN_C, 1), greater(OUT_C, threshold))
    return tuple(
        size(
            case.size.substitute(binds) + OUT_C * TAPS,
            within(_WRAPPER, later(_TO_CONV_SINCE, case.origin.since), MVE_ONLY, (compiler,), case.origin.until),
            all_of(taken, case.when.substitute(binds)),
        )
        for case in CONVOLVE_S8
        if outlives(case.origin.until, _TO_CONV_SINCE)
        and Isa.MVE in case.origin.isas
        and compiler in case.origin.compilers
    )


_SAME_5_8 = all_of(equal(IN_C, OUT_C), equal(IN_N, 1))
_SAME = all_of(_SAME_5_8, UNIT_DILATION)
_SCRATCH_SQUARE_3 = all_of(equal(FILTER_W, 3), equal(FILTER_H, 3), at_most(PAD_H, 1), at_most(PAD_W, 1))
DEPTHWISE_S8 = (
    *_scratch_to_conv(1, "gcc"),
    *_scratch_to_conv(8, "armclang"),
    size(0, within(_WRAPPER, "4.1.0", DSP_ONLY), all_of(_SAME, _SCRATCH_SQUARE_3)),
    size(2 * IN_C * TAPS, within(_SCRATCH_OPT, V5_8, DSP_ONLY, until=V5_9), _SAME_5_8),
    size(2 * IN_C * TAPS, within(_SCRATCH_OPT, V5_9, DSP_ONLY), _SAME),
    size(4 * IN_C * TAPS + 4, within(_SCRATCH_OPT, V5_8, MVE_ONLY, until=V5_9), _SAME_5_8),
    size(4 * IN_C * TAPS + 4, within(_SCRATCH_OPT, V5_9, MVE_ONLY, until="4.0.0"), _SAME),
    size(496 * TAPS, within(_SCRATCH_OPT, "4.0.0", MVE_ONLY), _SAME),
    size(0, within(_WRAPPER, V5_8)),
)

_SCRATCH_FAST_S16 = "arm_depthwise_conv_fast_s16_get_buffer_size"


def _fast_s16(fast: Condition, since: str, until: str = "") -> tuple[ScratchSize, ...]:
    return (
        size(2 * IN_C * TAPS, within(_SCRATCH_FAST_S16, since, DSP_ONLY, until=until), fast),
        size(8 * IN_C * TAPS + 8, within(_SCRATCH_FAST_S16, since, MVE_ONLY, until=until), fast),
    )


DEPTHWISE_S16 = (
    *_fast_s16(FAST_S16_4_0, "4.0.0", "4.1.0"),
    *_fast_s16(FAST_S16, "4.1.0"),
    size(0, within("arm_depthwise_conv_wrapper_s16_get_buffer_size", "4.0.0")),
)

_SCRATCH_OPT_S4 = "arm_depthwise_conv_s4_opt_get_buffer_size"
DEPTHWISE_S4 = (
    size(2 * IN_C * TAPS, within(_SCRATCH_OPT_S4, "5.0.0", until="6.0.0"), _SAME),
    size(2 * IN_C * TAPS, within(_SCRATCH_OPT_S4, "6.0.0", NOT_MVE), _SAME),
    size(496 * TAPS, within(_SCRATCH_OPT_S4, "6.0.0", MVE_ONLY), _SAME),
    size(0, within("arm_depthwise_conv_wrapper_s4_get_buffer_size", "5.0.0")),
)


# arm_depthwise_conv_wrapper_s16: the fast kernel for multiplier 1, or the general one.


_S16_FUNCTION = "arm_depthwise_conv_wrapper_s16"
_FROM_4_1 = ("4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")

DEPTHWISE_S16_ROUTE = Wrapper(
    entry="depthwise_s16",
    function=_S16_FUNCTION,
    branches=(
        Branch("arm_depthwise_conv_fast_s16", FAST_S16_4_0, kernel_at(_S16_FUNCTION, {"4.0.0": 67}, until="4.1.0")),
        Branch("arm_depthwise_conv_fast_s16", FAST_S16, kernel_at(_S16_FUNCTION, dict.fromkeys(_FROM_4_1, 64))),
        Branch(
            "arm_depthwise_conv_s16",
            TRUE,
            kernel_at(_S16_FUNCTION, {"4.0.0": 81, **dict.fromkeys(_FROM_4_1, 78)}),
        ),
    ),
    sizes=DEPTHWISE_S16,
    params="dw_conv_params",
    absent="cmsis5-5.9.0 has arm_depthwise_conv_s16 but no wrapper, cmsis5-5.8.0 has neither",
)


# arm_depthwise_conv_wrapper_s4: the kernel for multiplier 1, or the general one.


_S4_FUNCTION = "arm_depthwise_conv_wrapper_s4"
_S4_FROM_5 = ("5.0.0", "6.0.0", "7.0.0", "main")

DEPTHWISE_S4_ROUTE = Wrapper(
    entry="depthwise_s4",
    function=_S4_FUNCTION,
    branches=(
        Branch(
            "arm_depthwise_conv_s4_opt",
            all_of(equal(CH_MULT, 1), equal(IN_N, 1), UNIT_DILATION),
            kernel_at(_S4_FUNCTION, dict.fromkeys(_S4_FROM_5, 62)),
        ),
        Branch("arm_depthwise_conv_s4", TRUE, kernel_at(_S4_FUNCTION, dict.fromkeys(_S4_FROM_5, 77))),
    ),
    sizes=DEPTHWISE_S4,
    params="dw_conv_params",
    absent="s4 depthwise convolution came with 5.0.0",
)


# arm_depthwise_conv_wrapper_s8: convolution on MVE, 3x3, the kernel for multiplier 1, or the general one.


_S8_FUNCTION = "arm_depthwise_conv_wrapper_s8"
_FROM_4_0 = ("4.0.0", "4.1.0", "5.0.0", "6.0.0")
_TO_CONV = {"7.0.0": 110, "main": 110}

_SINGLE_5_8 = all_of(equal(CH_MULT, 1), equal(IN_N, 1))
_SINGLE = all_of(_SINGLE_5_8, UNIT_DILATION)
_S8_SQUARE_3 = all_of(equal(FILTER_W, 3), equal(FILTER_H, 3), at_most(PAD_H, 1))


def _s8_to_conv(threshold: int, compiler: str) -> Branch:
    """From 7.0.0 on: CONVERT_DW_CONV_WITH_ONE_INPUT_CH_AND_OUTPUT_CH_ABOVE_THRESHOLD, by compiler."""
    return Branch(
        "arm_convolve_wrapper_s8",
        all_of(equal(IN_C, 1), greater(OUT_C, threshold)),
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
            _SINGLE, _branch(_S8_3X3, all_of(_SINGLE, _S8_SQUARE_3, at_most(PAD_W, 1)), _lines(66, 66, 130), NOT_MVE)
        ),
        _nested(_SINGLE_5_8, _branch(_S8_OPT, _SINGLE_5_8, {V5_8: 79}, until=V5_9)),
        _nested(_SINGLE, _branch(_S8_OPT, _SINGLE, _lines(81, 81, 145))),
        _branch("arm_depthwise_conv_s8", TRUE, {V5_8: 95, **_lines(97, 97, 161)}),
    ),
    sizes=DEPTHWISE_S8,
    params="dw_conv_params",
)


# The depthwise kernels: 3x3 with padding, windows outside the input, channels that do not match.


_HAZARDS_3X3, _HAZARDS_OPT = "arm_depthwise_conv_3x3_s8", "arm_depthwise_conv_s8_opt"
_HAZARDS_FAST_S16, _HAZARDS_OPT_S4 = "arm_depthwise_conv_fast_s16", "arm_depthwise_conv_s4_opt"
_LESS_PADDING = f"Let the runtime pad in a separate layer. Less padding works, too, but {RETRAIN}."
_DSP = (Isa.DSP,)

_LAST_WINDOW = named("start_of_last_window", (OUT_H - 1) * STRIDE_H - PAD_H)
_BELOW = greater(_LAST_WINDOW, IN_H)
_OUTSIDE = any_of(greater(PAD_H, FILTER_H), _BELOW)
# The last window starts behind the input by what the padding after has more than the filter, less up to stride - 1.
_OUTSIDE_BY_PADDING = any_of(
    greater(PAD_H, FILTER_H),
    all_of(greater(PAD_AFTER_H, FILTER_H), any_of(at_least(PAD_AFTER_H, FILTER_H + STRIDE_H), _BELOW)),
)
_OUTSIDE_WHAT = (
    "A window lies wholly above or below the input by at least one row; the kernel then clears more rows than its "
    "scratch buffer has."
)
_RIGHT_EDGE = named("middle_of_last_window", (OUT_W - 1) * STRIDE_W - PAD_W + 1)
_PAST_ROW = at_least(_RIGHT_EDGE, IN_W)


def _channels(name: str, entry: str, origin: Origin, status: int = -1) -> Hazard:
    return Hazard(
        id=name,
        kind="returns-error",
        entries=(entry,),
        origin=origin,
        when=unequal(IN_C, OUT_C),
        brief="returns an error where input and output channels differ",
        what="The kernel for channel multiplier 1 returns an error where input and output channels differ.",
        status=status,
    )


def _outside(name: str, entry: str, origin: Origin) -> Hazard:
    return Hazard(
        id=name,
        kind="overrun",
        entries=(entry,),
        origin=origin,
        when=_OUTSIDE,
        unsized=_OUTSIDE_BY_PADDING,
        brief="writes past its scratch buffer",
        what=_OUTSIDE_WHAT,
        way_round=_LESS_PADDING,
    )


def _no_bias(name: str, entry: str, origin: Origin) -> Hazard:
    """A NULL bias of more channels than a block of CH_IN_BLOCK_MVE has; outputs that are left of four are right."""
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=(entry,),
        origin=origin,
        when=all_of(equal(BIAS, 0), greater(IN_C, 124), at_least(OUT_H * OUT_W, 4)),
        brief="adds what lies at low addresses beyond channel 124, where the caller passes NULL for the bias",
        what="The layer has no bias. The kernel computes four outputs at a time. For each block of 124 channels but "
        "the first it then adds an offset to the bias pointer, also where it is NULL, and adds what lies at low "
        "addresses: status SUCCESS, wrong values.",
        breach=greater(IN_C, 124),
        way_round="Give the layer a bias of zeros.",
    )


_RELEASES = (V5_8, V5_9, "4.0.0", *_FROM_4_1)
_DEF_3X3 = dict.fromkeys(_RELEASES, 52)
_DEF_OPT = {**dict.fromkeys(_RELEASES, 51), "4.0.0": 257}
_FROM_4, _HAZARDS_FROM_5 = _RELEASES[2:], _FROM_4_1[1:]


class _Axis(NamedTuple):
    """The sizes of one axis of a call."""

    size: Term
    taps: Term
    outputs: Term
    stride: Term
    pad: Term
    dilation: Term

    def several(self) -> Condition:
        """Whether more than one tap meets the input."""
        return all_of(greater(self.taps, 1), any_of(greater(self.pad, 0), greater(self.size, self.dilation)))

    def clipped_before(self) -> Condition:
        """Whether the first window whose last tap is not in front of the input begins there."""
        first = maximum(self.pad - (self.taps - 1) * self.dilation + self.stride - 1, 0) // self.stride
        return all_of(greater(self.taps, 1), less(first * self.stride, self.pad), less(first, self.outputs))

    def clipped_after(self) -> Condition:
        """Whether the first window whose last tap is behind the input begins inside it."""
        whole = maximum(self.size + self.pad - (self.taps - 1) * self.dilation - 1 + self.stride, 0) // self.stride
        return all_of(less(whole, self.outputs), less(whole * self.stride - self.pad, self.size))


_ROWS = _Axis(IN_H, FILTER_H, OUT_H, STRIDE_H, PAD_H, DILATION_H)
_COLUMNS = _Axis(IN_W, FILTER_W, OUT_W, STRIDE_W, PAD_W, DILATION_W)
# The nibbles of an odd number of channels change places from tap to tap: a tap that is left out is not counted.
_CLIPPED = any_of(
    _ROWS.clipped_before(),
    _COLUMNS.clipped_before(),
    all_of(_ROWS.clipped_after(), greater(OUT_C, 1)),
    all_of(_COLUMNS.clipped_after(), any_of(greater(OUT_C, 1), greater(FILTER_H, 1))),
)
_SEVERAL_TAPS = any_of(_ROWS.several(), _COLUMNS.several())
_ODD_CHANNELS = equal(IN_C % 2, 1)

DEPTHWISE_HAZARDS = (
    # CMSIS 5 answers ARM_MATH_SIZE_MISMATCH (-3), its successor ARM_CMSIS_NN_ARG_ERROR (-1).
    _channels(
        "dw-3x3-channels-mismatch", "depthwise_s8", kernel_at(_HAZARDS_3X3, {V5_8: 85, V5_9: 85}, NOT_MVE, "4.0.0"), -3
    ),
    _channels("dw-3x3-channels-differ", "depthwise_s8", kernel_at(_HAZARDS_3X3, dict.fromkeys(_FROM_4, 85), NOT_MVE)),
    Hazard(
        id="dw-3x3-padding-refused",
        kind="returns-error",
        entries=("depthwise_s8",),
        origin=kernel_at(_HAZARDS_3X3, {V5_8: 90}, NOT_MVE, V5_9),
        when=greater(PAD_W, 1),
        brief="returns an argument error for this padding",
        what="The wrapper of this release tests only padding.h before it takes the 3x3 kernel, which returns an "
        "argument error for padding.w above 1.",
        way_round=_LESS_PADDING,
        status=-1,
    ),
    Hazard(
        id="dw-3x3-padding-after",
        kind="wrong-result",
        entries=("depthwise_s8",),
        origin=kernel_at(_HAZARDS_3X3, _DEF_3X3, NOT_MVE),
        when=_PAST_ROW,
        unsized=all_of(at_least(PAD_AFTER_W, 2), any_of(at_least(PAD_AFTER_W, STRIDE_W + 1), _PAST_ROW)),
        brief="reads past the row in its last column",
        what="The 3x3 kernel reads the middle column of its window without a test: with a padding of 2 or more on the "
        "right the last column reads past the row.",
        way_round=_LESS_PADDING,
    ),
    _channels(
        "dw-opt-channels-differ", "depthwise_s8", kernel_at(_HAZARDS_OPT, {"4.0.0": 68, **dict.fromkeys(_FROM_4_1, 67)})
    ),
    _no_bias(
        "dw-opt-no-bias",
        "depthwise_s8",
        kernel_at(_HAZARDS_OPT, {"4.0.0": 156, **dict.fromkeys(_FROM_4_1, 152)}, MVE_ONLY),
    ),
    _outside("dw-opt-window-outside", "depthwise_s8", kernel_at(_HAZARDS_OPT, _DEF_OPT, _DSP)),
    _channels("dw-fast-s16-channels-differ", "depthwise_s16", kernel_at(_HAZARDS_FAST_S16, dict.fromkeys(_FROM_4, 67))),
    _outside(
        "dw-fast-s16-window-outside",
        "depthwise_s16",
        kernel_at(_HAZARDS_FAST_S16, dict.fromkeys(_FROM_4, 51), _DSP),
    ),
    Hazard(
        id="dw-s4-odd-channels",
        kind="wrong-result",
        entries=("depthwise_s4",),
        of_kernels=("arm_depthwise_conv_s4",),
        origin=kernel_at("arm_depthwise_conv_s4", dict.fromkeys(_HAZARDS_FROM_5, 75)),
        when=all_of(_ODD_CHANNELS, any_of(all_of(greater(CH_MULT, 1), _SEVERAL_TAPS), _CLIPPED)),
        brief="takes weights of other taps and channels where the input channels are odd in number",
        what="With an odd number of input channels the kernel takes half of them, rounded down, as the bytes of a tap "
        "and counts the 4 bits that are left from tap to tap, without those in the padding: the weights are those of "
        "other taps and channels wherever ch_mult is above 1 or a window reaches into the padding, status SUCCESS.",
        breach=_ODD_CHANNELS,
        way_round="Take an even number of input channels: more of them, of zeros, change nothing.",
    ),
    _channels(
        "dw-s4-opt-channels-differ", "depthwise_s4", kernel_at(_HAZARDS_OPT_S4, dict.fromkeys(_HAZARDS_FROM_5, 69))
    ),
    _no_bias(
        "dw-s4-opt-no-bias",
        "depthwise_s4",
        kernel_at(_HAZARDS_OPT_S4, dict.fromkeys(_HAZARDS_FROM_5[1:], 152), MVE_ONLY),
    ),
    Hazard(
        id="dw-s4-opt-gcc-predicate",
        kind="wrong-result",
        entries=("depthwise_s4",),
        origin=kernel_at(_HAZARDS_OPT_S4, dict.fromkeys(_HAZARDS_FROM_5[1:], 165), MVE_ONLY),
        when=greater(IN_C, 1),
        brief="gives wrong values in every other channel when gcc 12.2 builds it",
        what="On MVE the weights of every other channel are unpacked from the wrong 4 bits, status SUCCESS: "
        f"{CONSTANT_PREDICATES.what}.",
        breach=TRUE,
        way_round="Build CMSIS-NN with gcc 13 or newer.",
        compiler=CONSTANT_PREDICATES,
    ),
    _outside(
        "dw-s4-opt-window-outside",
        "depthwise_s4",
        kernel_at(_HAZARDS_OPT_S4, dict.fromkeys(_HAZARDS_FROM_5, 51), NOT_MVE),
    ),
)
