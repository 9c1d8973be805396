"""Scratch sizes of transposed convolution, with its second context."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import all_of, at_most, greater
from onnxlint_cmsis.cmsis_nn.expressions import maximum, round_up
from onnxlint_cmsis.cmsis_nn.names import (
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
    STRIDE_H,
    STRIDE_W,
    TAPS,
)
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, NOT_MVE
from onnxlint_cmsis.cmsis_nn.scratch.scratch_rows import size, within

REVERSED = all_of(at_most(STRIDE_W, 2), at_most(STRIDE_H, 2), greater(IN_C, 16))
"""arm_transpose_conv_wrapper_s8.c:69-71 with REVERSE_TCOL_EFFICIENT_THRESHOLD (7.0.0:77, main:78)."""

_SIZE = "arm_transpose_conv_s8_get_buffer_size"
_REVERSE = "arm_transpose_conv_s8_get_reverse_conv_buffer_size"
_RING_WIDTH = (IN_W - 1) * STRIDE_W + maximum(FILTER_W, STRIDE_H)

TRANSPOSE_CONV_S8 = (
    size(4 * TAPS * IN_H * IN_W * OUT_C, within(_SIZE, "5.0.0", until="7.0.0")),
    size(4 * round_up(COLS, 4), within(_SIZE, "7.0.0", NOT_MVE), REVERSED),
    size(4 * round_up(COLS, 16), within(_SIZE, "7.0.0", MVE_ONLY), REVERSED),
    size(4 * OUT_C * _RING_WIDTH * maximum(FILTER_H, STRIDE_H), within(_SIZE, "7.0.0")),
)

TRANSPOSE_CONV_REVERSE = (
    size(4 * OUT_H * OUT_W * OUT_C, within("arm_transpose_conv_s8", "5.0.0", until="7.0.0")),
    size(IN_C * TAPS * FILTER_N, within(_REVERSE, "7.0.0"), REVERSED),
    size(0, within(_REVERSE, "7.0.0")),
)
"""Bytes of `output_ctx` up to 6.0.0, which no function answers, and of `reverse_conv_ctx` from 7.0.0 on."""
