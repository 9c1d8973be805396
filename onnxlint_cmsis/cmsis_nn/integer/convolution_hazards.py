"""Hazards of the general convolution kernels: groups, dilation, 16-bit variables."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import BIAS, COLS, CTX_SIZE, DILATION, FILTER, IN, OUT, PAD, STRIDE, TAPS
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, any_of, equal, greater, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.loops.sizes import SHORT
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, Origin, kernel_at
from onnxlint_cmsis.cmsis_nn.terms import Term, minimum, named, round_up
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.ground.words import RETRAIN

_CONVOLVE_S8 = "arm_convolve_s8"
_ENTRIES_S8 = ("convolve_s8", "depthwise_s8", "transpose_conv_s8")
_GROUPED = unequal(IN.c, FILTER.c)
_GROUPS = named("groups", IN.c // FILTER.c)
_GROUP_COLS = TAPS * FILTER.c
_PIXELS = OUT.h * OUT.w
_ODD_PIXEL = equal(_PIXELS % 2, 1)
_LARGEST, _LARGEST_BY_4 = 65535, 4 * 65535 + 3


# arm_convolve_s8 on MVE fills up to 4 rows of one group, each aligned to 4 bytes, the last to its end alone.
_WRITTEN = named("bytes_written", (minimum(_PIXELS, 4) - 1) * round_up(_GROUP_COLS, 4) + _GROUP_COLS)
_DEF_S8 = {V5_8: 51, V5_9: 51, "4.0.0": 51, "4.1.0": 50, "5.0.0": 50, "6.0.0": 49, "7.0.0": 49, "main": 49}
_FROM_6 = {release: _DEF_S8[release] for release in ("6.0.0", "7.0.0", "main")}


# The wrappers choose a kernel without a look at filter_dims.c or, in 5.8.0, at the dilation; the choice opens here.
_WRAPPER_S8 = {V5_8: 62, V5_9: 62, "4.0.0": 62, "4.1.0": 62, "5.0.0": 62}
_WRAPPER_S16 = {V5_9: 63, "4.0.0": 63, "4.1.0": 63, "5.0.0": 63, "6.0.0": 62, "7.0.0": 62, "main": 62}
_WRAPPER_S4 = {"5.0.0": 62, "6.0.0": 62, "7.0.0": 62, "main": 63}
_KEPT_IN_16_BITS = (IN.h, IN.w, IN.c, FILTER.h, FILTER.w, OUT.h, OUT.w, OUT.c, STRIDE.h, STRIDE.w, PAD.h, PAD.w)


def _columns(name: str, origin: Origin, guard: Condition, breach: Condition, what: str) -> Hazard:
    """A count of filter_dims.h * filter_dims.w * input_dims.c that is kept in 16 bits, where `guard` holds."""
    return Hazard(
        id=name,
        kind="too-large",
        entries=_ENTRIES_S8,
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
    return _columns(name, kernel_at(_CONVOLVE_S8, lines, (isa,), until), _ODD_PIXEL, breach, what)


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
        when=any_of(greater(DILATION.h, 1), greater(DILATION.w, 1)),
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
        when=all_of(greater(COLS, SHORT), unequal(COLS % 4, 0), equal(OUT.c % 2, 1), greater(_PIXELS, 1)),
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
        origin=kernel_at("arm_convolve_wrapper_s4", _WRAPPER_S4),
        what="The s4 kernels compute no groups: a grouped convolution is computed as a dense one.",
    ),
    Hazard(
        id="conv-grouped-no-scratch",
        kind="returns-error",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLVE_S8, {"6.0.0": 63, "7.0.0": 64}, until="main"),
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
        origin=kernel_at(_CONVOLVE_S8, {"6.0.0": 98, "7.0.0": 99, "main": 99}),
        when=any_of(equal(FILTER.c, 0), greater(FILTER.c, IN.c)),
        brief="divides by zero",
        what="The kernel divides by filter_dims.c and by the number of groups, one of which is zero: a Cortex-M that "
        "does not trap this goes on with 0 and returns ARM_CMSIS_NN_ARG_ERROR.",
        status=None,
    ),
    Hazard(
        id="conv-groups-not-even",
        kind="returns-error",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLVE_S8, {"6.0.0": 98, "7.0.0": 99, "main": 99}),
        when=any_of(unequal(IN.c % _GROUPS, 0), unequal(OUT.c % _GROUPS, 0)),
        brief="returns ARM_CMSIS_NN_ARG_ERROR for these groups",
        what="The channels do not divide by the number of groups: ARM_CMSIS_NN_ARG_ERROR.",
        way_round=f"Choose input and output channels that the number of groups divides. This {RETRAIN}.",
        status=-1,
    ),
    Hazard(
        id="conv-grouped-1xn-scratch",
        kind="overrun",
        entries=("convolve_s8",),
        origin=kernel_at(_CONVOLVE_S8, {"6.0.0": 49, "7.0.0": 49}, MVE_ONLY, "main"),
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
        origin=kernel_at(_CONVOLVE_S8, {"6.0.0": 331, "7.0.0": 384, "main": 384}),
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
        entries=_ENTRIES_S8,
        origin=kernel_at(_CONVOLVE_S8, _DEF_S8),
        when=any_of(*(greater(size, _LARGEST) for size in _KEPT_IN_16_BITS)),
        brief="cuts a size off to 16 bits",
        what="Sizes, strides and paddings are kept in 16-bit variables.",
    ),
    # Plain C code of 5.8.0 multiplies without im2col and counts in 32 bits.
    _columns(
        "conv-16-bit-columns-plain",
        kernel_at(_CONVOLVE_S8, _UP_TO_4_1, (Isa.SCALAR,), "5.0.0"),
        TRUE,
        _TOO_MANY,
        _PAIRS,
    ),
    _columns(
        "conv-16-bit-columns-dsp",
        kernel_at(_CONVOLVE_S8, {V5_8: 51, **_UP_TO_4_1}, (Isa.DSP,), "5.0.0"),
        _PAIR_OR_MORE,
        _TOO_MANY,
        _PAIRS,
    ),
    _odd_column("conv-16-bit-odd-column-plain-5", Isa.SCALAR, {"5.0.0": 50}, COLS, "6.0.0"),
    _odd_column("conv-16-bit-odd-column-dsp-5", Isa.DSP, {"5.0.0": 50}, COLS, "6.0.0"),
    _odd_column("conv-16-bit-odd-column-plain", Isa.SCALAR, _FROM_6, _GROUP_COLS),
    _odd_column("conv-16-bit-odd-column-dsp", Isa.DSP, _FROM_6, _GROUP_COLS),
)
