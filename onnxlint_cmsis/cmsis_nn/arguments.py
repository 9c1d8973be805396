"""The arguments of a call as terms, under CMSIS-NN's names, and conditions on them that tables share."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import all_of, any_of, equal, greater, unequal
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, named, var
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Dims(NamedTuple):
    """The four sizes of a `cmsis_nn_dims`."""

    n: Term
    h: Term
    w: Term
    c: Term


class Tile(NamedTuple):
    """The two numbers of a `cmsis_nn_tile`."""

    h: Term
    w: Term


IN, FILTER, OUT = (Dims(*(var(f"{name}_dims.{axis}") for axis in "nhwc")) for name in ("input", "filter", "output"))
STRIDE, PAD, PAD_AFTER, DILATION = (
    Tile(var(f"{name}.h"), var(f"{name}.w")) for name in ("stride", "padding", "pad_after", "dilation")
)
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
TAPS = FILTER.h * FILTER.w
COLS = FILTER.h * FILTER.w * IN.c
NO_PADDING = all_of(equal(PAD.w, 0), equal(PAD.h, 0))
UNIT_STRIDE = all_of(equal(STRIDE.w, 1), equal(STRIDE.h, 1))
UNIT_DILATION = all_of(equal(DILATION.w, 1), equal(DILATION.h, 1))
FILTER_1X1 = all_of(equal(FILTER.w, 1), equal(FILTER.h, 1))
NOT_GROUPED = equal(IN.c, FILTER.c)

SINGLE_COLUMNS = any_of(
    all_of(equal(IN.w, 1), equal(IN.c, 1), greater(IN.h, 1), greater(FILTER.w, 1)),
    all_of(equal(FILTER.w, 1), equal(FILTER.c, 1), greater(FILTER.h, 1), greater(IN.w, 1)),
)
"""Operands of which one has a single column and channel, and is repeated along the width."""


# The numbers arm_convolve_1_x_n_s8 works out on MVE (main: arm_convolve_1_x_n_s8.c:80-90), C division throughout.
TOTAL_PAD = named("total_pad", (OUT.w - 1) * STRIDE.w + FILTER.w - IN.w)
ASYM_PAD = named("asym_pad", TOTAL_PAD % 2)
_RIGHT = PAD.w + ASYM_PAD


# MAX(1, ...) where padding after is not 0 and 0 where it is: asym_pad is at least -1, so -(pad + asym) lifts only -1.
RIGHT_PAD_NUM = named("right_pad_num", maximum((_RIGHT + STRIDE.w - 1) // STRIDE.w, _RIGHT * -1))
LEFT_PAD_NUM = named("left_pad_num", (PAD.w + STRIDE.w - 1) // STRIDE.w)
NO_PAD_NUM = named("no_pad_num", maximum(OUT.w - (RIGHT_PAD_NUM + LEFT_PAD_NUM), 0))


# The source tests padding.w * 2 + asym_pad == total_pad; asym_pad is the remainder of total_pad / 2.
PADDING_ACCEPTED = equal(PAD.w, TOTAL_PAD // 2)
NARROW_OUTPUT = unequal(RIGHT_PAD_NUM + NO_PAD_NUM + LEFT_PAD_NUM, OUT.w)
COLUMNS_FIT = equal(RIGHT_PAD_NUM + NO_PAD_NUM + LEFT_PAD_NUM, OUT.w)
