"""Hazards of depthwise kernels: 3x3 with padding, windows outside the input, channels that do not match."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import BIAS, CH_MULT, DILATION, FILTER, IN, OUT, PAD, PAD_AFTER, STRIDE
from onnxlint_cmsis.cmsis_nn.compiler_defects import CONSTANT_PREDICATES
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, any_of, at_least, equal, greater, less, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.integer.depthwise import FROM_4_1
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, Origin, kernel_at
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, named
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.ground.words import RETRAIN

_3X3, _OPT = "arm_depthwise_conv_3x3_s8", "arm_depthwise_conv_s8_opt"
_FAST_S16, _OPT_S4 = "arm_depthwise_conv_fast_s16", "arm_depthwise_conv_s4_opt"
_LESS_PADDING = f"Let the runtime pad in a separate layer. Less padding works, too, but {RETRAIN}."
_DSP = (Isa.DSP,)
_LAST_WINDOW = named("start_of_last_window", (OUT.h - 1) * STRIDE.h - PAD.h)
_BELOW = greater(_LAST_WINDOW, IN.h)
_OUTSIDE = any_of(greater(PAD.h, FILTER.h), _BELOW)


# The last window starts behind the input by what the padding after has more than the filter, less up to stride - 1.
_OUTSIDE_BY_PADDING = any_of(
    greater(PAD.h, FILTER.h),
    all_of(greater(PAD_AFTER.h, FILTER.h), any_of(at_least(PAD_AFTER.h, FILTER.h + STRIDE.h), _BELOW)),
)

_OUTSIDE_WHAT = (
    "A window lies wholly above or below the input by at least one row; the kernel then clears more rows than its "
    "scratch buffer has."
)

_RIGHT_EDGE = named("middle_of_last_window", (OUT.w - 1) * STRIDE.w - PAD.w + 1)
_PAST_ROW = at_least(_RIGHT_EDGE, IN.w)


def _mismatch(name: str, entry: str, origin: Origin, status: int = -1) -> Hazard:
    return Hazard(
        id=name,
        kind="returns-error",
        entries=(entry,),
        origin=origin,
        when=unequal(IN.c, OUT.c),
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
        when=all_of(equal(BIAS, 0), greater(IN.c, 124), at_least(OUT.h * OUT.w, 4)),
        brief="adds what lies at low addresses beyond channel 124, where the caller passes NULL for the bias",
        what="The layer has no bias. The kernel computes four outputs at a time. For each block of 124 channels but "
        "the first it then adds an offset to the bias pointer, also where it is NULL, and adds what lies at low "
        "addresses: status SUCCESS, wrong values.",
        breach=greater(IN.c, 124),
        way_round="Give the layer a bias of zeros.",
    )


_RELEASES = (V5_8, V5_9, "4.0.0", *FROM_4_1)
_DEF_3X3 = dict.fromkeys(_RELEASES, 52)
_DEF_OPT = {**dict.fromkeys(_RELEASES, 51), "4.0.0": 257}
_FROM_4, _FROM_5 = _RELEASES[2:], FROM_4_1[1:]


class _Axis(NamedTuple):
    """The sizes of one axis of a call."""

    size: Term
    taps: Term
    outputs: Term
    stride: Term
    pad: Term
    dilation: Term

    def several(self) -> Condition:
        """Tell whether more than one tap meets the input."""
        return all_of(greater(self.taps, 1), any_of(greater(self.pad, 0), greater(self.size, self.dilation)))

    def clipped_before(self) -> Condition:
        """Tell whether the first window whose last tap is not in front of the input begins there."""
        first = maximum(self.pad - (self.taps - 1) * self.dilation + self.stride - 1, 0) // self.stride
        return all_of(greater(self.taps, 1), less(first * self.stride, self.pad), less(first, self.outputs))

    def clipped_after(self) -> Condition:
        """Tell whether the first window whose last tap is behind the input begins inside it."""
        whole = maximum(self.size + self.pad - (self.taps - 1) * self.dilation - 1 + self.stride, 0) // self.stride
        return all_of(less(whole, self.outputs), less(whole * self.stride - self.pad, self.size))


_ROWS = _Axis(IN.h, FILTER.h, OUT.h, STRIDE.h, PAD.h, DILATION.h)
_COLUMNS = _Axis(IN.w, FILTER.w, OUT.w, STRIDE.w, PAD.w, DILATION.w)


# The nibbles of an odd number of channels change places from tap to tap: a tap that is left out is not counted.
_CLIPPED = any_of(
    _ROWS.clipped_before(),
    _COLUMNS.clipped_before(),
    all_of(_ROWS.clipped_after(), greater(OUT.c, 1)),
    all_of(_COLUMNS.clipped_after(), any_of(greater(OUT.c, 1), greater(FILTER.h, 1))),
)

_SEVERAL_TAPS = any_of(_ROWS.several(), _COLUMNS.several())
_ODD_CHANNELS = equal(IN.c % 2, 1)

DEPTHWISE_HAZARDS = (
    # CMSIS 5 answers ARM_MATH_SIZE_MISMATCH (-3), its successor ARM_CMSIS_NN_ARG_ERROR (-1).
    _mismatch("dw-3x3-channels-mismatch", "depthwise_s8", kernel_at(_3X3, {V5_8: 85, V5_9: 85}, NOT_MVE, "4.0.0"), -3),
    _mismatch("dw-3x3-channels-differ", "depthwise_s8", kernel_at(_3X3, dict.fromkeys(_FROM_4, 85), NOT_MVE)),
    Hazard(
        id="dw-3x3-padding-refused",
        kind="returns-error",
        entries=("depthwise_s8",),
        origin=kernel_at(_3X3, {V5_8: 90}, NOT_MVE, V5_9),
        when=greater(PAD.w, 1),
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
        origin=kernel_at(_3X3, _DEF_3X3, NOT_MVE),
        when=_PAST_ROW,
        unsized=all_of(at_least(PAD_AFTER.w, 2), any_of(at_least(PAD_AFTER.w, STRIDE.w + 1), _PAST_ROW)),
        brief="reads past the row in its last column",
        what="The 3x3 kernel reads the middle column of its window without a test: with a padding of 2 or more on the "
        "right the last column reads past the row.",
        way_round=_LESS_PADDING,
    ),
    _mismatch("dw-opt-channels-differ", "depthwise_s8", kernel_at(_OPT, {"4.0.0": 68, **dict.fromkeys(FROM_4_1, 67)})),
    _no_bias(
        "dw-opt-no-bias",
        "depthwise_s8",
        kernel_at(_OPT, {"4.0.0": 156, **dict.fromkeys(FROM_4_1, 152)}, MVE_ONLY),
    ),
    _outside("dw-opt-window-outside", "depthwise_s8", kernel_at(_OPT, _DEF_OPT, _DSP)),
    _mismatch("dw-fast-s16-channels-differ", "depthwise_s16", kernel_at(_FAST_S16, dict.fromkeys(_FROM_4, 67))),
    _outside(
        "dw-fast-s16-window-outside",
        "depthwise_s16",
        kernel_at(_FAST_S16, dict.fromkeys(_FROM_4, 51), _DSP),
    ),
    Hazard(
        id="dw-s4-odd-channels",
        kind="wrong-result",
        entries=("depthwise_s4",),
        of_kernels=("arm_depthwise_conv_s4",),
        origin=kernel_at("arm_depthwise_conv_s4", dict.fromkeys(_FROM_5, 75)),
        when=all_of(_ODD_CHANNELS, any_of(all_of(greater(CH_MULT, 1), _SEVERAL_TAPS), _CLIPPED)),
        brief="takes weights of other taps and channels where the input channels are odd in number",
        what="With an odd number of input channels the kernel takes half of them, rounded down, as the bytes of a tap "
        "and counts the 4 bits that are left from tap to tap, without those in the padding: the weights are those of "
        "other taps and channels wherever ch_mult is above 1 or a window reaches into the padding, status SUCCESS.",
        breach=_ODD_CHANNELS,
        way_round="Take an even number of input channels: more of them, of zeros, change nothing.",
    ),
    _mismatch("dw-s4-opt-channels-differ", "depthwise_s4", kernel_at(_OPT_S4, dict.fromkeys(_FROM_5, 69))),
    _no_bias(
        "dw-s4-opt-no-bias",
        "depthwise_s4",
        kernel_at(_OPT_S4, dict.fromkeys(_FROM_5[1:], 152), MVE_ONLY),
    ),
    Hazard(
        id="dw-s4-opt-gcc-predicate",
        kind="wrong-result",
        entries=("depthwise_s4",),
        origin=kernel_at(_OPT_S4, dict.fromkeys(_FROM_5[1:], 165), MVE_ONLY),
        when=greater(IN.c, 1),
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
        kernel_at(_OPT_S4, dict.fromkeys(_FROM_5, 51), NOT_MVE),
    ),
)
