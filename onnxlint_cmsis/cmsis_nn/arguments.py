"""The arguments of a call as terms, under CMSIS-NN's names, and conditions on them that tables share."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import all_of, any_of, equal, greater, unequal
from onnxlint_cmsis.cmsis_nn.terms import maximum, named, var

IN_N, IN_H, IN_W, IN_C = (var(f"input_dims.{axis}") for axis in "nhwc")
FILTER_N, FILTER_H, FILTER_W, FILTER_C = (var(f"filter_dims.{axis}") for axis in "nhwc")
OUT_N, OUT_H, OUT_W, OUT_C = (var(f"output_dims.{axis}") for axis in "nhwc")
STRIDE_H, STRIDE_W = var("stride.h"), var("stride.w")
PAD_H, PAD_W = var("padding.h"), var("padding.w")
PAD_AFTER_H, PAD_AFTER_W = var("pad_after.h"), var("pad_after.w")
DILATION_H, DILATION_W = var("dilation.h"), var("dilation.w")
CH_MULT = var("ch_mult")
PER_CHANNEL = var("per_channel")
BIAS = var("bias")
INITIAL_STATE = var("initial_state")
CTX_SIZE = var("ctx.size")
PACKED, CLAMPED, ACTIVATION = var("packed"), var("clamped"), var("activation")
ADJ_X, ADJ_Y = var("adj_x"), var("adj_y")
OFFSET_H, OFFSET_W = var("padding_offset.h"), var("padding_offset.w")
PERMUTED_AXES = var("permutation.axes")
PERMUTATION = tuple(var(f"permutation.{axis}") for axis in range(4))
TAPS = FILTER_H * FILTER_W
COLS = FILTER_H * FILTER_W * IN_C
NO_PADDING = all_of(equal(PAD_W, 0), equal(PAD_H, 0))
UNIT_STRIDE = all_of(equal(STRIDE_W, 1), equal(STRIDE_H, 1))
UNIT_DILATION = all_of(equal(DILATION_W, 1), equal(DILATION_H, 1))
FILTER_1X1 = all_of(equal(FILTER_W, 1), equal(FILTER_H, 1))
NOT_GROUPED = equal(IN_C, FILTER_C)

SINGLE_COLUMNS = any_of(
    all_of(equal(IN_W, 1), equal(IN_C, 1), greater(IN_H, 1), greater(FILTER_W, 1)),
    all_of(equal(FILTER_W, 1), equal(FILTER_C, 1), greater(FILTER_H, 1), greater(IN_W, 1)),
)
"""Operands of which one has a single column and channel, and is repeated along the width."""


# The numbers arm_convolve_1_x_n_s8 works out on MVE (main: arm_convolve_1_x_n_s8.c:80-90), C division throughout.
TOTAL_PAD = named("total_pad", (OUT_W - 1) * STRIDE_W + FILTER_W - IN_W)
ASYM_PAD = named("asym_pad", TOTAL_PAD % 2)
_RIGHT = PAD_W + ASYM_PAD


# MAX(1, ...) where padding after is not 0 and 0 where it is: asym_pad is at least -1, so -(pad + asym) lifts only -1.
RIGHT_PAD_NUM = named("right_pad_num", maximum((_RIGHT + STRIDE_W - 1) // STRIDE_W, _RIGHT * -1))
LEFT_PAD_NUM = named("left_pad_num", (PAD_W + STRIDE_W - 1) // STRIDE_W)
NO_PAD_NUM = named("no_pad_num", maximum(OUT_W - (RIGHT_PAD_NUM + LEFT_PAD_NUM), 0))


# The source tests padding.w * 2 + asym_pad == total_pad; asym_pad is the remainder of total_pad / 2.
PADDING_ACCEPTED = equal(PAD_W, TOTAL_PAD // 2)
NARROW_OUTPUT = unequal(RIGHT_PAD_NUM + NO_PAD_NUM + LEFT_PAD_NUM, OUT_W)
COLUMNS_FIT = equal(RIGHT_PAD_NUM + NO_PAD_NUM + LEFT_PAD_NUM, OUT_W)
