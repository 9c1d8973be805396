"""Route and scratch of transposed convolution: a convolution with reversed weights, or the direct kernel.

Convolution wants a second context.
"""

from onnxlint_cmsis.cmsis_nn.arguments import COLS, FILTER, IN, OUT, PAD, STRIDE, TAPS
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, at_most, greater
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, Branch, Wrapper, kernel_at, size, within
from onnxlint_cmsis.cmsis_nn.terms import maximum, round_up, term

REVERSED = all_of(at_most(STRIDE.w, 2), at_most(STRIDE.h, 2), greater(IN.c, 16))
"""arm_transpose_conv_wrapper_s8.c:69-71 with REVERSE_TCOL_EFFICIENT_THRESHOLD (7.0.0:77, main:78)."""

_SIZE = "arm_transpose_conv_s8_get_buffer_size"
_REVERSE_SIZE = "arm_transpose_conv_s8_get_reverse_conv_buffer_size"
_RING_WIDTH = (IN.w - 1) * STRIDE.w + maximum(FILTER.w, STRIDE.h)

TRANSPOSE_CONV_S8 = (
    size(4 * TAPS * IN.h * IN.w * OUT.c, within(_SIZE, "5.0.0", until="7.0.0")),
    size(4 * round_up(COLS, 4), within(_SIZE, "7.0.0", NOT_MVE), REVERSED),
    size(4 * round_up(COLS, 16), within(_SIZE, "7.0.0", MVE_ONLY), REVERSED),
    size(4 * OUT.c * _RING_WIDTH * maximum(FILTER.h, STRIDE.h), within(_SIZE, "7.0.0")),
)

TRANSPOSE_CONV_REVERSE = (
    size(4 * OUT.h * OUT.w * OUT.c, within("arm_transpose_conv_s8", "5.0.0", until="7.0.0")),
    size(IN.c * TAPS * FILTER.n, within(_REVERSE_SIZE, "7.0.0"), REVERSED),
    size(0, within(_REVERSE_SIZE, "7.0.0")),
)
"""Bytes of `output_ctx` up to 6.0.0, which no function answers, and of `reverse_conv_ctx` from 7.0.0 on."""

WRAPPER = "arm_transpose_conv_wrapper_s8"

_UPSCALED = (
    ("input_dims.h", IN.h * STRIDE.h),
    ("input_dims.w", IN.w * STRIDE.w),
    ("padding.h", FILTER.h - 1 - PAD.h),
    ("padding.w", FILTER.w - 1 - PAD.w),
    ("stride.h", term(1)),
    ("stride.w", term(1)),
    ("dilation.h", term(1)),
    ("dilation.w", term(1)),
)

TRANSPOSE_CONV_S8_ROUTE = Wrapper(
    entry="transpose_conv_s8",
    function=WRAPPER,
    branches=(
        Branch(
            "arm_transpose_conv_s8",
            TRUE,
            kernel_at("arm_transpose_conv_s8", {"5.0.0": 49, "6.0.0": 49}, until="7.0.0"),
        ),
        Branch("arm_convolve_s8", REVERSED, kernel_at(WRAPPER, {"7.0.0": 73, "main": 73}), binds=_UPSCALED),
        Branch("arm_transpose_conv_s8", TRUE, kernel_at(WRAPPER, {"7.0.0": 141, "main": 141})),
    ),
    sizes=TRANSPOSE_CONV_S8,
    reverse_sizes=TRANSPOSE_CONV_REVERSE,
    params="transpose_conv_params",
    absent="transposed convolution came with 5.0.0",
)
