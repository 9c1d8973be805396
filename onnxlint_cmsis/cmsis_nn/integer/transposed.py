"""Route and scratch of transposed convolution: a convolution with reversed weights, or the direct kernel.

Convolution wants a second context.
"""

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
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, all_of, at_most, greater
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE, Branch, Wrapper, kernel_at, size, within
from onnxlint_cmsis.cmsis_nn.terms import maximum, round_up, term

REVERSED = all_of(at_most(STRIDE_W, 2), at_most(STRIDE_H, 2), greater(IN_C, 16))
"""arm_transpose_conv_wrapper_s8.c:69-71 with REVERSE_TCOL_EFFICIENT_THRESHOLD (7.0.0:77, main:78)."""

_SIZE = "arm_transpose_conv_s8_get_buffer_size"
_REVERSE_SIZE = "arm_transpose_conv_s8_get_reverse_conv_buffer_size"
_RING_WIDTH = (IN_W - 1) * STRIDE_W + maximum(FILTER_W, STRIDE_H)

TRANSPOSE_CONV_S8 = (
    size(4 * TAPS * IN_H * IN_W * OUT_C, within(_SIZE, "5.0.0", until="7.0.0")),
    size(4 * round_up(COLS, 4), within(_SIZE, "7.0.0", NOT_MVE), REVERSED),
    size(4 * round_up(COLS, 16), within(_SIZE, "7.0.0", MVE_ONLY), REVERSED),
    size(4 * OUT_C * _RING_WIDTH * maximum(FILTER_H, STRIDE_H), within(_SIZE, "7.0.0")),
)

TRANSPOSE_CONV_REVERSE = (
    size(4 * OUT_H * OUT_W * OUT_C, within("arm_transpose_conv_s8", "5.0.0", until="7.0.0")),
    size(IN_C * TAPS * FILTER_N, within(_REVERSE_SIZE, "7.0.0"), REVERSED),
    size(0, within(_REVERSE_SIZE, "7.0.0")),
)
"""Bytes of `output_ctx` up to 6.0.0, which no function answers, and of `reverse_conv_ctx` from 7.0.0 on."""

WRAPPER = "arm_transpose_conv_wrapper_s8"

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
