"""Transposed convolutions: route, scratch, hazards, cost."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    COLS,
    FILTER_H,
    FILTER_N,
    FILTER_W,
    IN_C,
    IN_H,
    IN_W,
    OUT_C,
    OUT_H,
    OUT_W,
    PAD_H,
    PAD_W,
    STRIDE_H,
    STRIDE_W,
    TAPS,
)
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, any_of, at_most, greater, less, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, RETRAIN, Branch, Wrapper, kernel_at, size, within
from onnxlint_cmsis.cmsis_nn.terms import maximum, named, round_up, term

# Scratch sizes of transposed convolution, with its second context.


REVERSED = all_of(at_most(STRIDE_W, 2), at_most(STRIDE_H, 2), greater(IN_C, 16))
"""arm_transpose_conv_wrapper_s8.c:69-71 with REVERSE_TCOL_EFFICIENT_THRESHOLD (7.0.0:77, main:78)."""

_SIZE = "arm_transpose_conv_s8_get_buffer_size"
_SCRATCH_REVERSE = "arm_transpose_conv_s8_get_reverse_conv_buffer_size"
_RING_WIDTH = (IN_W - 1) * STRIDE_W + maximum(FILTER_W, STRIDE_H)

TRANSPOSE_CONV_S8 = (
    size(4 * TAPS * IN_H * IN_W * OUT_C, within(_SIZE, "5.0.0", until="7.0.0")),
    size(4 * round_up(COLS, 4), within(_SIZE, "7.0.0", NOT_MVE), REVERSED),
    size(4 * round_up(COLS, 16), within(_SIZE, "7.0.0", MVE_ONLY), REVERSED),
    size(4 * OUT_C * _RING_WIDTH * maximum(FILTER_H, STRIDE_H), within(_SIZE, "7.0.0")),
)

TRANSPOSE_CONV_REVERSE = (
    size(4 * OUT_H * OUT_W * OUT_C, within("arm_transpose_conv_s8", "5.0.0", until="7.0.0")),
    size(IN_C * TAPS * FILTER_N, within(_SCRATCH_REVERSE, "7.0.0"), REVERSED),
    size(0, within(_SCRATCH_REVERSE, "7.0.0")),
)
"""Bytes of `output_ctx` up to 6.0.0, which no function answers, and of `reverse_conv_ctx` from 7.0.0 on."""


# arm_transpose_conv_wrapper_s8: convolution with reversed weights, or the direct kernel.


_FUNCTION = "arm_transpose_conv_wrapper_s8"

_UPSCALED = (
    ("input_dims.h", IN_H * STRIDE_H),
    ("input_dims.w", IN_W * STRIDE_W),
    ("padding.h", FILTER_H - 1 - PAD_H),
    ("padding.w", FILTER_W - 1 - PAD_W),
    ("stride.h", term(1)),
    ("stride.w", term(1)),
    ("dilation.h", term(1)),
    ("dilation.w", term(1)),
)

TRANSPOSE_CONV_S8_ROUTE = Wrapper(
    entry="transpose_conv_s8",
    function=_FUNCTION,
    branches=(
        Branch(
            "arm_transpose_conv_s8",
            TRUE,
            kernel_at("arm_transpose_conv_s8", {"5.0.0": 49, "6.0.0": 49}, until="7.0.0"),
        ),
        Branch("arm_convolve_s8", REVERSED, kernel_at(_FUNCTION, {"7.0.0": 73, "main": 73}), binds=_UPSCALED),
        Branch("arm_transpose_conv_s8", TRUE, kernel_at(_FUNCTION, {"7.0.0": 141, "main": 141})),
    ),
    sizes=TRANSPOSE_CONV_S8,
    reverse_sizes=TRANSPOSE_CONV_REVERSE,
    params="transpose_conv_params",
    absent="transposed convolution came with 5.0.0",
)


# The direct transposed-convolution kernel: wrong rows, rows past the output, scratch too small.


_KERNEL = "arm_transpose_conv_s8"
_HAZARDS_REVERSE = (
    "Give it 17 or more input channels with strides of at most 2: convolution with reversed weights is right. Channels "
    f"of zeros change nothing, another stride {RETRAIN}."
)

# 7.0.0 writes stride.h rows for each input row from the first whose top padding is used up.
_ROWS_7_0 = named("rows_written", (IN_H - (PAD_H + STRIDE_H - 1) // STRIDE_H) * STRIDE_H)
_ROWS_MAIN = named("rows_written", IN_H * STRIDE_H - PAD_H)


_ENTRY = ("transpose_conv_s8",)
_PAST_OUTPUT = "The direct kernel writes more rows than the output has; with several images the next one is wrong too."

TRANSPOSE_CONV_HAZARDS = (
    Hazard(
        id="tconv-padding-not-in-strides",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 141}, until="main"),
        when=unequal(PAD_H % STRIDE_H, 0),
        reported="issue 230, fixed by pull request 233",
        brief="writes rows from the wrong place",
        what="The direct kernel writes rows from the wrong place of its ring buffer unless stride.h divides padding.h: "
        "status SUCCESS, nearly every value wrong.",
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-rows-past-output",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 141}, until="main"),
        when=greater(_ROWS_7_0, OUT_H),
        brief="writes rows past the output",
        what=_PAST_OUTPUT,
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-rows-past-output-main",
        kind="overrun",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"main": 147}),
        when=greater(_ROWS_MAIN, OUT_H),
        brief="writes rows past the output",
        what=_PAST_OUTPUT,
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-padding-above-input",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 219, "main": 147}),
        when=less(IN_H * STRIDE_H, PAD_H),
        brief="gives wrong values",
        what="The padding is more than the rows that the input spreads to; the direct kernel's values are wrong.",
    ),
    Hazard(
        id="tconv-output-past-rows",
        kind="wrong-result",
        entries=_ENTRY,
        origin=kernel_at(_KERNEL, {"7.0.0": 91, "main": 91}),
        when=any_of(
            greater(OUT_H + PAD_H, (IN_H - 1) * STRIDE_H + maximum(FILTER_H, STRIDE_H)),
            greater(OUT_W + PAD_W, (IN_W - 1) * STRIDE_W + maximum(FILTER_W, STRIDE_W)),
        ),
        brief="reads columns past its row buffer and leaves rows unwritten",
        what="The output is larger than the input and the filter spread to, as with output_padding above the padding "
        "at the end: the direct kernel reads past its row buffer and never writes the last rows, status SUCCESS.",
        way_round=_HAZARDS_REVERSE,
    ),
    Hazard(
        id="tconv-reversed-padding-past-filter",
        kind="wrong-result",
        entries=_ENTRY,
        of_kernels=("arm_convolve_s8",),
        origin=kernel_at(_FUNCTION, {"7.0.0": 94, "main": 94}),
        when=any_of(less(PAD_H, 0), less(PAD_W, 0)),
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
        when=greater(STRIDE_W, maximum(FILTER_W, STRIDE_H)),
        reported="pull request 243",
        brief="writes past its scratch buffer",
        what="The size function reckons with stride.h where the kernel needs stride.w: the kernel writes past its "
        "scratch buffer.",
        way_round="Choose a stride along the width that is no greater than the kernel's width or the other stride. "
        f"This {RETRAIN}.",
    ),
)
