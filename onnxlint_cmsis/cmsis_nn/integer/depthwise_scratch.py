"""Scratch sizes of the depthwise wrappers of s8, s16 and s4."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import CH_MULT, COLS, FILTER, IN, OUT, PAD, TAPS, UNIT_DILATION
from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of, at_most, equal, greater, less
from onnxlint_cmsis.cmsis_nn.integer.convolution_scratch import CONVOLVE_S8
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9, later, outlives
from onnxlint_cmsis.cmsis_nn.rows import DSP_ONLY, MVE_ONLY, NOT_MVE, ScratchSize, size, within
from onnxlint_cmsis.ground.types import Isa

TRANSPOSED_FILTER = (("filter_dims.n", FILTER.c), ("filter_dims.c", FILTER.n))
"""How arm_depthwise_conv_wrapper_s8 shows its filter to arm_convolve_wrapper_s8 (7.0.0 on, MVE)."""
_FAST = all_of(equal(CH_MULT, 1), UNIT_DILATION)
FAST_S16_4_0 = all_of(_FAST, less(COLS, 512))
"""USE_FAST_DW_CONV_FUNCTION of 4.0.0 (arm_depthwise_conv_wrapper_s16.c:34-36)."""
FAST_S16 = all_of(_FAST, less(TAPS, 512))
"""USE_FAST_DW_CONV_FUNCTION from 4.1.0 on (arm_nnsupportfunctions.h:43-45)."""
_WRAPPER = "arm_depthwise_conv_wrapper_s8_get_buffer_size"
_OPT = "arm_depthwise_conv_s8_opt_get_buffer_size"
_TO_CONV_SINCE = "7.0.0"


def _scratch_to_conv(threshold: int, compiler: str) -> tuple[ScratchSize, ...]:
    """Depthwise as convolution (7.0.0 on, MVE): the convolution's size and room for the transposed weights."""
    binds = dict(TRANSPOSED_FILTER)
    taken = all_of(equal(IN.c, 1), greater(OUT.c, threshold))
    return tuple(
        size(
            case.size.substitute(binds) + OUT.c * TAPS,
            within(_WRAPPER, later(_TO_CONV_SINCE, case.origin.since), MVE_ONLY, (compiler,), case.origin.until),
            all_of(taken, case.when.substitute(binds)),
        )
        for case in CONVOLVE_S8
        if outlives(case.origin.until, _TO_CONV_SINCE)
        and Isa.MVE in case.origin.isas
        and compiler in case.origin.compilers
    )


_SAME_5_8 = all_of(equal(IN.c, OUT.c), equal(IN.n, 1))
_SAME = all_of(_SAME_5_8, UNIT_DILATION)
_SQUARE_3 = all_of(equal(FILTER.w, 3), equal(FILTER.h, 3), at_most(PAD.h, 1), at_most(PAD.w, 1))

DEPTHWISE_S8 = (
    *_scratch_to_conv(1, "gcc"),
    *_scratch_to_conv(8, "armclang"),
    size(0, within(_WRAPPER, "4.1.0", DSP_ONLY), all_of(_SAME, _SQUARE_3)),
    size(2 * IN.c * TAPS, within(_OPT, V5_8, DSP_ONLY, until=V5_9), _SAME_5_8),
    size(2 * IN.c * TAPS, within(_OPT, V5_9, DSP_ONLY), _SAME),
    size(4 * IN.c * TAPS + 4, within(_OPT, V5_8, MVE_ONLY, until=V5_9), _SAME_5_8),
    size(4 * IN.c * TAPS + 4, within(_OPT, V5_9, MVE_ONLY, until="4.0.0"), _SAME),
    size(496 * TAPS, within(_OPT, "4.0.0", MVE_ONLY), _SAME),
    size(0, within(_WRAPPER, V5_8)),
)

_FAST_S16_SIZE = "arm_depthwise_conv_fast_s16_get_buffer_size"


def _fast_s16(fast: Condition, since: str, until: str = "") -> tuple[ScratchSize, ...]:
    return (
        size(2 * IN.c * TAPS, within(_FAST_S16_SIZE, since, DSP_ONLY, until=until), fast),
        size(8 * IN.c * TAPS + 8, within(_FAST_S16_SIZE, since, MVE_ONLY, until=until), fast),
    )


DEPTHWISE_S16 = (
    *_fast_s16(FAST_S16_4_0, "4.0.0", "4.1.0"),
    *_fast_s16(FAST_S16, "4.1.0"),
    size(0, within("arm_depthwise_conv_wrapper_s16_get_buffer_size", "4.0.0")),
)

_OPT_S4 = "arm_depthwise_conv_s4_opt_get_buffer_size"

DEPTHWISE_S4 = (
    size(2 * IN.c * TAPS, within(_OPT_S4, "5.0.0", until="6.0.0"), _SAME),
    size(2 * IN.c * TAPS, within(_OPT_S4, "6.0.0", NOT_MVE), _SAME),
    size(496 * TAPS, within(_OPT_S4, "6.0.0", MVE_ONLY), _SAME),
    size(0, within("arm_depthwise_conv_wrapper_s4_get_buffer_size", "5.0.0")),
)
