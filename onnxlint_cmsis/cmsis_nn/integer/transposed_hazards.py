"""Hazards of the direct transposed-convolution kernel: wrong rows, rows past the output, scratch too small."""

from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN, OUT, PAD, STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, any_of, greater, less, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.integer.transposed import WRAPPER
from onnxlint_cmsis.cmsis_nn.rows import kernel_at
from onnxlint_cmsis.cmsis_nn.terms import maximum, named
from onnxlint_cmsis.ground.words import RETRAIN

_KERNEL = "arm_transpose_conv_s8"

_REVERSED_CALL = (
    "Give it 17 or more input channels with strides of at most 2: convolution with reversed weights is right. Channels "
    f"of zeros change nothing, another stride {RETRAIN}."
)


# 7.0.0 writes stride.h rows for each input row from the first whose top padding is used up.
_ROWS_7_0 = named("rows_written", (IN.h - (PAD.h + STRIDE.h - 1) // STRIDE.h) * STRIDE.h)
_ROWS_MAIN = named("rows_written", IN.h * STRIDE.h - PAD.h)
_ENTRY = ("transpose_conv_s8",)
_PAST_OUTPUT = "The direct kernel writes more rows than the output has; with several images the next one is wrong too."

TRANSPOSE_CONV_HAZARDS = (
    Hazard(
        id="tconv-padding-not-in-strides",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 141}, until="main"),
        when=unequal(PAD.h % STRIDE.h, 0),
        reported="issue 230, fixed by pull request 233",
        brief="writes rows from the wrong place",
        what="The direct kernel writes rows from the wrong place of its ring buffer unless stride.h divides padding.h: "
        "status SUCCESS, nearly every value wrong.",
        way_round=_REVERSED_CALL,
    ),
    Hazard(
        id="tconv-rows-past-output",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 141}, until="main"),
        when=greater(_ROWS_7_0, OUT.h),
        brief="writes rows past the output",
        what=_PAST_OUTPUT,
        way_round=_REVERSED_CALL,
    ),
    Hazard(
        id="tconv-rows-past-output-main",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"main": 147}),
        when=greater(_ROWS_MAIN, OUT.h),
        brief="writes rows past the output",
        what=_PAST_OUTPUT,
        way_round=_REVERSED_CALL,
    ),
    Hazard(
        id="tconv-padding-above-input",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 219, "main": 147}),
        when=less(IN.h * STRIDE.h, PAD.h),
        brief="gives wrong values",
        what="The padding is more than the rows that the input spreads to; the direct kernel's values are wrong.",
    ),
    Hazard(
        id="tconv-output-past-rows",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 91, "main": 91}),
        when=any_of(
            greater(OUT.h + PAD.h, (IN.h - 1) * STRIDE.h + maximum(FILTER.h, STRIDE.h)),
            greater(OUT.w + PAD.w, (IN.w - 1) * STRIDE.w + maximum(FILTER.w, STRIDE.w)),
        ),
        brief="reads columns past its row buffer and leaves rows unwritten",
        what="The output is larger than the input and the filter spread to, as with output_padding above the padding "
        "at the end: the direct kernel reads past its row buffer and never writes the last rows, status SUCCESS.",
        way_round=_REVERSED_CALL,
    ),
    Hazard(
        id="tconv-reversed-padding-past-filter",
        kind="wrong-result",
        entries=_ENTRY,
        of_kernels=("arm_convolve_s8",),
        origin=kernel_at(WRAPPER, {"7.0.0": 94, "main": 94}),
        when=any_of(less(PAD.h, 0), less(PAD.w, 0)),
        brief="gives wrong values where the padding is the filter's size or more",
        what="The wrapper runs a convolution with a padding of filter - 1 - padding, which is negative where the "
        "padding is the filter's size or more: status SUCCESS, wrong values.",
        breach=TRUE,
        way_round=f"Choose a padding below the filter's size. This {RETRAIN}.",
    ),
    Hazard(
        id="tconv-scratch-too-small",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 48, "main": 48}),
        when=greater(STRIDE.w, maximum(FILTER.w, STRIDE.h)),
        reported="pull request 243",
        brief="writes past its scratch buffer",
        what="The size function reckons with stride.h where the kernel needs stride.w: the kernel writes past its "
        "scratch buffer.",
        way_round="Choose a stride along the width that is no greater than the kernel's width or the other stride. "
        f"This {RETRAIN}.",
    ),
)
