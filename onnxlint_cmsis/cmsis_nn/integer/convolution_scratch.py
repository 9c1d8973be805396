"""Scratch sizes of the convolution wrappers of s8, s16 and s4."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    ASYM_PAD,
    COLS,
    COLUMNS_FIT,
    DILATION,
    FILTER,
    FILTER_1X1,
    IN,
    NO_PADDING,
    NOT_GROUPED,
    OUT,
    PAD,
    RIGHT_PAD_NUM,
    STRIDE,
    UNIT_DILATION,
    UNIT_STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of, equal, less, unequal
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import DSP_ONLY, MVE_ONLY, NOT_MVE, ScratchSize, size, within
from onnxlint_cmsis.cmsis_nn.terms import maximum, round_up
from onnxlint_cmsis.ground.types import Isa

_GENERAL = "arm_convolve_s8_get_buffer_size"

_S8_GENERAL = (
    size(0, within(_GENERAL, V5_8, (Isa.SCALAR,), until=V5_9)),
    size(4 * COLS, within(_GENERAL, V5_8, (Isa.DSP, Isa.MVE), until=V5_9)),
    size(4 * COLS, within(_GENERAL, V5_9, NOT_MVE, until="5.0.0")),
    size(4 * round_up(COLS, 4), within(_GENERAL, "5.0.0", NOT_MVE)),
    size(4 * round_up(COLS, 8), within(_GENERAL, V5_9, MVE_ONLY, until="6.0.0")),
    size(4 * round_up(COLS, 16), within(_GENERAL, "6.0.0", MVE_ONLY)),
)

POINT = all_of(NO_PADDING, FILTER_1X1, UNIT_DILATION)
_POINT_5_8 = all_of(NO_PADDING, UNIT_STRIDE, FILTER_1X1, equal(IN.c % 4, 0))
_FAST = "arm_convolve_1x1_s8_fast_get_buffer_size"
_WRAPPER = "arm_convolve_wrapper_s8_get_buffer_size"
_ARMCLANG = ("armclang",)

_S8_POINT = (
    size(0, within(_FAST, V5_8, until=V5_9), _POINT_5_8),
    size(0, within(_FAST, V5_9, until="4.0.0"), all_of(_POINT_5_8, UNIT_DILATION)),
    size(4 * IN.c, within(_FAST, "7.0.0", DSP_ONLY, _ARMCLANG, "main"), all_of(POINT, UNIT_STRIDE)),
    size(4 * IN.c, within(_FAST, "main", DSP_ONLY, _ARMCLANG), all_of(POINT, NOT_GROUPED, UNIT_STRIDE)),
    size(0, within(_WRAPPER, "4.0.0", until="main"), POINT),
    size(0, within(_WRAPPER, "main"), all_of(POINT, NOT_GROUPED)),
)

WIDTH_BY_4 = equal(OUT.w % 4, 0)
_ROW = all_of(equal(IN.h, 1), equal(DILATION.w, 1), equal(FILTER.h, 1))
_ROW_5_8 = all_of(equal(OUT.h, 1), equal(IN.h, 1), equal(FILTER.h, 1), WIDTH_BY_4, equal(IN.n, 1))
_ROW_BY_STEP = all_of(_ROW, equal(STRIDE.w * IN.c % 4, 0))
_1_X_N = "arm_convolve_1_x_n_s8_get_buffer_size"


def _strips(row: Condition, since: str, until: str = "") -> tuple[ScratchSize, ...]:
    """The longer of the left and the right strip; an output too narrow for both goes on to the general case."""
    fits = all_of(row, COLUMNS_FIT)
    left = (FILTER.w + PAD.w) * IN.c
    uneven = (FILTER.w - 1 + RIGHT_PAD_NUM) * IN.c
    even = (FILTER.w - 1 + PAD.w) * IN.c
    origin = within(_1_X_N, since, MVE_ONLY, until=until)
    return (
        size(maximum(left, uneven), origin, all_of(fits, unequal(ASYM_PAD, 0))),
        size(maximum(left, even), origin, all_of(fits, equal(ASYM_PAD, 0))),
    )


_S8_ROW = (
    size(0, within(_1_X_N, V5_8, MVE_ONLY, until=V5_9), _ROW_5_8),
    size(0, within(_1_X_N, V5_9, MVE_ONLY, until="4.0.0"), all_of(_ROW_5_8, UNIT_DILATION)),
    size(0, within(_1_X_N, "4.0.0", MVE_ONLY, until="4.1.0"), all_of(_ROW, WIDTH_BY_4)),
    size(0, within(_1_X_N, "4.1.0", MVE_ONLY, until="6.0.0"), _ROW_BY_STEP),
    *_strips(_ROW_BY_STEP, "6.0.0", "main"),
    *_strips(all_of(_ROW_BY_STEP, NOT_GROUPED), "main"),
)

CONVOLVE_S8 = (*_S8_POINT, *_S8_ROW, *_S8_GENERAL)
_S16 = "arm_convolve_s16_get_buffer_size"
_FAST_S16 = "arm_convolve_fast_s16_get_buffer_size"

CONVOLVE_S16 = (
    size(4 * COLS, within(_FAST_S16, V5_9, DSP_ONLY, until="6.0.0"), all_of(less(COLS, 512), UNIT_DILATION)),
    size(0, within(_S16, V5_9, until="6.0.0")),
    size(4 * COLS, within(_S16, "6.0.0", NOT_MVE)),
    size(8 * round_up(COLS, 8), within(_S16, "6.0.0", MVE_ONLY)),
)

_WRAPPER_S4 = "arm_convolve_wrapper_s4_get_buffer_size"
_S4 = "arm_convolve_s4_get_buffer_size"
_1_X_N_S4 = "arm_convolve_1_x_n_s4_get_buffer_size"

CONVOLVE_S4 = (
    size(0, within(_WRAPPER_S4, "5.0.0", until="main"), POINT),
    size(0, within(_WRAPPER_S4, "main"), all_of(POINT, NOT_GROUPED)),
    size(4 * COLS, within(_S4, "5.0.0", until="6.0.0")),
    size(4 * COLS, within(_S4, "6.0.0", NOT_MVE)),
    *_strips(_ROW_BY_STEP, "6.0.0", "main"),
    size(0, within(_1_X_N_S4, "main", MVE_ONLY), all_of(_ROW_BY_STEP, NOT_GROUPED, COLUMNS_FIT)),
    size(4 * round_up(COLS, 16), within(_S4, "6.0.0", MVE_ONLY)),
)
