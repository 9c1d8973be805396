"""Depthwise convolutions of s8, s16 and s4: routes, scratch, hazards, cost."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.cmsis_nn.conditions import (
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
    TRUE,
    UNIT_DILATION,
    Condition,
    Term,
    all_of,
    any_of,
    at_least,
    at_most,
    equal,
    greater,
    less,
    maximum,
    named,
    unequal,
)
from onnxlint_cmsis.cmsis_nn.integer.convolution import CONVOLVE_S8
from onnxlint_cmsis.cmsis_nn.loops import Counts, LoopSizes, add, block, library_block, up, widen
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9, later, outlives
from onnxlint_cmsis.cmsis_nn.rows import (
    ALL_ISAS,
    CONSTANT_PREDICATES,
    DSP_ONLY,
    MVE_ONLY,
    NOT_MVE,
    RETRAIN,
    Branch,
    Hazard,
    Origin,
    OuterTest,
    ScratchSize,
    Wrapper,
    kernel_at,
    size,
    within,
)
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


# Depthwise convolutions: how often the loops of each kernel run.
#
# Sources: ConvolutionFunctions/arm_depthwise_conv_3x3_s8.c, arm_depthwise_conv_s8.c, arm_depthwise_conv_s8_opt.c and
# arm_depthwise_conv_wrapper_s8.c of each release.


BLOCK_MVE = 124
"""Channels of a block of arm_depthwise_conv_s8_opt on MVE: CH_IN_BLOCK_MVE."""


def conv_3x3_s8(sizes: LoopSizes, _: Isa) -> Counts:
    """Four channels at a time, then one; a filter row has its first and last tap where the column has them."""
    plane = sizes.plane
    four, single = divmod(sizes.in_c, 4)
    counts = {"conv_3x3_s8": 1, "conv_3x3_s8.row": sizes.out_h, "conv_3x3_s8.pixel": sizes.pixels}
    columns = (
        ("whole", plane.w.whole), ("no_left", plane.w.cut_before), ("no_right", plane.w.cut_after),
        ("middle", plane.w.cut_both),
    )  # fmt: skip
    for name, channels in (("conv_3x3_s8.four", four), ("conv_3x3_s8.single", single)):
        counts[f"{name}.enter"] = sizes.pixels * (channels > 0)
        for column, times in columns:
            counts[f"{name}.{column}"] = sizes.out_h * times * channels
            counts[f"{name}.{column}.filter_row"] = plane.h.inside * times * channels
            counts[f"{name}.{column}.cut"] = (sizes.out_h - plane.h.whole) * times * channels
    return counts


def s8_mult_4(sizes: LoopSizes, _: Isa) -> Counts:
    """Four multiplied channels of one input channel at a time."""
    plane = sizes.plane
    tiles = sizes.in_c * (sizes.ch_mult // 4)
    return {
        "mult_4": 1,
        "mult_4.row": sizes.out_h,
        "mult_4.pixel": sizes.pixels,
        "mult_4.channel": sizes.pixels * sizes.in_c,
        "mult_4.tile": sizes.pixels * tiles,
        "mult_4.filter_row": plane.h.inside * sizes.out_w * tiles,
        "mult_4.tap": plane.inside * tiles,
    }


def s8_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """One output channel at a time."""
    plane = sizes.plane
    return {
        "generic": 1,
        "generic.row": sizes.n * sizes.out_h,
        "generic.pixel": sizes.n * sizes.pixels,
        "generic.channel": sizes.n * sizes.pixels * sizes.in_c,
        "generic.output": sizes.n * sizes.pixels * sizes.out_c,
        "generic.filter_row": sizes.n * plane.h.inside * sizes.out_w * sizes.out_c,
        "generic.tap": sizes.n * plane.inside * sizes.out_c,
    }


def s8_opt(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1; on scalar it hands the work to arm_depthwise_conv_s8."""
    if isa is Isa.MVE:
        return _in_blocks("opt", sizes, _s8_opt_block)
    inside = sizes.plane.inside
    outside = sizes.plane.h.inside * (sizes.plane.w.before + sizes.plane.w.after)
    counts = {"opt.copy": inside, **_columns_of_windows("opt", sizes, 1), **_fours_of_channels("opt", sizes, 1)}
    add(counts, widen("opt.copy", inside, sizes.in_c))
    add(counts, library_block("opt.fill", outside, 2 * sizes.in_c))
    return counts


def _columns_of_windows(name: str, sizes: LoopSizes, images: int) -> Counts:
    """A column of 16-bit values for each pixel; rows of the filter above and below the input are one fill each."""
    rows, above_and_below = sizes.plane.h, images * sizes.out_w
    values = above_and_below * sizes.filter_w * sizes.in_c
    return {
        name: 1,
        f"{name}.row": images * sizes.out_h,
        f"{name}.pixel": images * sizes.pixels,
        f"{name}.filter_row": images * rows.inside * sizes.out_w,
        f"{name}.above": (rows.cut_before + rows.cut_both) * above_and_below,
        f"{name}.below": (rows.cut_after + rows.cut_both) * above_and_below,
        f"{name}.above.value": rows.before * values,
        f"{name}.below.value": rows.after * values,
    }


def _fours_of_channels(name: str, sizes: LoopSizes, images: int) -> Counts:
    """Four channels at a time by two taps, then single channels."""
    pixels = images * sizes.pixels
    four, single = pixels * (sizes.in_c // 4), pixels * (sizes.in_c % 4)
    return {
        f"{name}.fours.enter": pixels * (sizes.in_c >= 4),
        f"{name}.four": four,
        f"{name}.four.two_taps": four * (sizes.taps // 2),
        f"{name}.four.two_taps.enter": four * (sizes.taps > 1),
        f"{name}.four.odd_tap": four * (sizes.taps % 2),
        f"{name}.singles.enter": pixels * (sizes.in_c % 4 > 0),
        f"{name}.single": single,
        f"{name}.single.tap": single * sizes.taps,
    }


def _in_blocks(name: str, sizes: LoopSizes, of_block: Callable[[LoopSizes, int], Counts]) -> Counts:
    """Blocks of channels on MVE; four pixels at a time, the rest one at a time."""
    counts: Counts = {name: 1}
    whole, rest = divmod(sizes.in_c, BLOCK_MVE)
    add(counts, of_block(sizes, BLOCK_MVE), whole)
    add(counts, of_block(sizes, rest), rest > 0)
    return counts


def gathered_windows(name: str, sizes: LoopSizes, channels: int) -> Counts:
    """Windows of a block of channels that MVE code gathers: rows of the filter in the input, taps in the padding."""
    plane = sizes.plane
    outside = sizes.pixels * sizes.taps - plane.inside
    above = plane.h.before * sizes.out_w * sizes.filter_w
    below = plane.h.after * sizes.out_w * sizes.filter_w
    counts = {
        f"{name}.block": 1,
        f"{name}.row": sizes.out_h,
        f"{name}.pixel": sizes.pixels,
        f"{name}.filter_row": plane.h.inside * sizes.out_w,
        f"{name}.filter_row.outside": (plane.h.before + plane.h.after) * sizes.out_w,
        f"{name}.above": above,
        f"{name}.below": below,
        f"{name}.beside": outside - above - below,
    }
    add(counts, block(Isa.MVE, f"{name}.copy", plane.inside, channels))
    add(counts, block(Isa.MVE, f"{name}.fill", outside, channels))
    return counts


def _s8_opt_block(sizes: LoopSizes, channels: int) -> Counts:
    vectors, left = up(channels, 4), sizes.pixels % 4
    counts = gathered_windows("opt", sizes, channels) | {
        "opt.left.enter": left > 0,
        "opt.left": left,
        "opt.left.vector": left * vectors,
        "opt.left.tap": left * vectors * sizes.taps,
    }
    for name, fours in zip(("opt.four", "opt.padded_four"), sizes.fours, strict=True):
        counts[name] = fours
        counts[f"{name}.vector"] = fours * vectors
        counts[f"{name}.tap"] = fours * vectors * sizes.taps
    return counts


def to_conv(sizes: LoopSizes) -> Counts:
    """What arm_depthwise_conv_wrapper_s8 adds on MVE before it calls a convolution: arm_transpose_s8 of the filter."""
    return {
        "to_conv": 1,
        "to_conv.row": sizes.filter_h,
        "to_conv.tap": sizes.taps,
        "to_conv.weight": sizes.taps * sizes.out_c,
        "to_conv.output": sizes.out_c,
    }


# Depthwise convolutions of 16-bit activations: how often the loops run.
#
# Sources (7.0.0): ConvolutionFunctions/arm_depthwise_conv_s16.c and arm_depthwise_conv_fast_s16.c,
# NNSupportFunctions/arm_nn_depthwise_conv_nt_t_s16.c.


def s16_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """One output at a time; divisions find the taps of a dilated window."""
    return {"dw_s16": 1, **_outputs("dw_s16", sizes, 1, sizes.out_c)}


def s16_fast(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1: columns of windows, four channels at a time."""
    if isa is Isa.MVE:
        return _fast_mve(sizes)
    counts = {"fast_s16.image": sizes.n, **_columns_of_windows("fast_s16", sizes, sizes.n)}
    inside, rows = sizes.n * sizes.plane.inside, counts["fast_s16.filter_row"]
    add(counts, _fours_of_channels("fast_s16", sizes, sizes.n))
    add(counts, library_block("fast_s16.copy", inside, 2 * sizes.in_c))
    add(counts, library_block("fast_s16.fill", rows * sizes.filter_w - inside, 2 * sizes.in_c))
    return counts


def _fast_mve(sizes: LoopSizes) -> Counts:
    """Four columns at a time; columns left after the last image one by one."""
    plane, pixels = sizes.plane, sizes.n * sizes.pixels
    fours, left = divmod(pixels, 4)
    vectors = up(sizes.in_c, 4)
    inside = sizes.n * plane.inside
    counts = {
        "fast_s16": 1,
        "fast_s16.image": sizes.n,
        "fast_s16.row": sizes.n * sizes.out_h,
        "fast_s16.pixel": pixels,
        "fast_s16.filter_row": pixels * sizes.filter_h,
        "fast_s16.above": sizes.n * plane.h.before * sizes.out_w * sizes.filter_w,
        "fast_s16.below": sizes.n * plane.h.after * sizes.out_w * sizes.filter_w,
        "fast_s16.left.column": sizes.n * plane.h.inside * plane.w.before,
        "fast_s16.right.column": sizes.n * plane.h.inside * plane.w.after,
        "fast_s16.four": fours,
        "fast_s16.four.vector": fours * vectors,
        "fast_s16.four.tap": fours * vectors * sizes.taps,
        "fast_s16.rest": left,
        "fast_s16.rest.vector": left * vectors,
        "fast_s16.rest.tap": left * vectors * sizes.taps,
    }
    add(counts, library_block("fast_s16.copy", inside, 2 * sizes.in_c))
    add(counts, library_block("fast_s16.fill", pixels * sizes.taps - inside, 2 * sizes.in_c))
    return counts


# Depthwise convolutions with 4-bit weights: how often the loops run.
#
# Sources (7.0.0): ConvolutionFunctions/arm_depthwise_conv_s4.c and arm_depthwise_conv_s4_opt.c,
# NNSupportFunctions/arm_nn_depthwise_conv_nt_t_s4.c.


def s4_generic(sizes: LoopSizes, _: Isa) -> Counts:
    """Two outputs together where channels or multiplier are even; one of four loops runs."""
    even, single = 1 - sizes.in_c % 2, 1 * (sizes.ch_mult == 1)
    half = 1 - sizes.ch_mult % 2
    odd_taps = sizes.taps % 2
    counts: Counts = {"dw_s4": 1}
    for name, taken, outputs in (
        ("of_one", even * single, sizes.in_c // 2),
        ("of_odd", even * (1 - single) * (1 - half), sizes.out_c),
        ("of_even", even * (1 - single) * half, sizes.out_c // 2),
        ("uneven", (1 - even) * (1 - odd_taps), sizes.out_c),
        ("uneven.odd_taps", (1 - even) * odd_taps, sizes.out_c),
    ):
        counts |= _outputs(f"dw_s4.{name}", sizes, taken, outputs)
    return counts


def _outputs(name: str, sizes: LoopSizes, taken: int, outputs: int) -> Counts:
    """The loops around `outputs` outputs, or pairs of them, of each pixel."""
    plane, images = sizes.plane, taken * sizes.n
    pixels = images * sizes.pixels
    return {
        f"{name}.image": images,
        f"{name}.row": images * sizes.out_h,
        f"{name}.pixel": pixels,
        f"{name}.channel": pixels * sizes.in_c,
        f"{name}.output": pixels * outputs,
        f"{name}.output.dilated_h": pixels * outputs * (sizes.dilation_h > 1),
        f"{name}.output.dilated_w": pixels * outputs * (sizes.dilation_w > 1),
        f"{name}.filter_row": images * plane.h.inside * sizes.out_w * outputs,
        f"{name}.tap": images * plane.inside * outputs,
    }


def s4_opt(sizes: LoopSizes, isa: Isa) -> Counts:
    """The kernel for multiplier 1: columns of windows, four channels at a time.

    But on MVE, even and odd channel counts have separate loops.
    """
    if isa is Isa.MVE:
        return _in_blocks("opt_s4", sizes, _opt_block)
    inside, odd = sizes.plane.inside, sizes.in_c % 2
    counts = {"opt_s4.copy": inside, **_columns_of_windows("opt_s4", sizes, 1)}
    rows = counts["opt_s4.filter_row"]
    if isa is Isa.SCALAR:
        counts["opt_s4.copy.value"] = inside * sizes.in_c
    else:
        add(counts, widen("opt_s4.copy", inside, sizes.in_c))
    add(counts, library_block("opt_s4.fill", rows * sizes.filter_w - inside, 2 * sizes.in_c))
    for name, times in (("opt_s4.even", sizes.pixels * (1 - odd)), ("opt_s4.odd", sizes.pixels * odd)):
        add(counts, _columns(name, times, sizes.in_c, sizes.taps))
    return counts


def _columns(name: str, times: int, channels: int, taps: int) -> Counts:
    """Four channels by two taps, then an odd tap, then left-over channels."""
    four, rest = times * (channels // 4), times * (channels % 4)
    return {
        f"{name}.four.enter": times * (channels >= 4),
        f"{name}.four": four,
        f"{name}.four.two_taps": four * (taps // 2),
        f"{name}.four.two_taps.enter": four * (taps > 1),
        f"{name}.four.odd_tap": four * (taps % 2),
        f"{name}.rest.enter": times * (channels % 4 > 0),
        f"{name}.rest": rest,
        f"{name}.rest.tap": rest * taps,
        f"{name}.rest.even_taps": rest * (taps % 2 == 0),
    }


def _opt_block(sizes: LoopSizes, channels: int) -> Counts:
    vectors, odd = up(channels, 4), sizes.in_c % 2
    fours, left = divmod(sizes.pixels, 4)
    counts = gathered_windows("opt_s4", sizes, channels)
    for name, times in (("opt_s4.four", fours), ("opt_s4.left", left)):
        counts |= {
            name: times,
            f"{name}.vector": times * vectors,
            f"{name}.vector.odd": times * vectors * odd,
            f"{name}.tap": times * vectors * sizes.taps * (1 - odd),
            f"{name}.tap.odd": times * vectors * sizes.taps * odd,
        }
    return counts
