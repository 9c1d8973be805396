"""The q7 and q15 functions of CMSIS 5, which return ARM_MATH_SIZE_MISMATCH for sizes they do not take."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import Condition, any_of, not_, unequal
from onnxlint_cmsis.cmsis_nn.names import FILTER_1X1, IN_C, NO_PADDING, OUT_C, OUT_W, UNIT_STRIDE
from onnxlint_cmsis.cmsis_nn.releases import V5_9
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, Hazard, Origin
from onnxlint_cmsis.types import Isa

_BY_4_AND_2 = any_of(unequal(IN_C % 4, 0), unequal(OUT_C % 2, 0))
_BY_2 = any_of(unequal(IN_C % 2, 0), unequal(OUT_C % 2, 0))
_POINT = any_of(_BY_4_AND_2, not_(FILTER_1X1), not_(NO_PADDING), not_(UNIT_STRIDE))
_CHANNELS = unequal(IN_C, OUT_C)

_REFUSALS: tuple[tuple[str, Condition, Condition, int, int], ...] = (
    ("convolve_HWC_q7_fast", _BY_4_AND_2, _BY_4_AND_2, 121, 337),
    ("convolve_HWC_q7_fast_nonsquare", _BY_4_AND_2, _BY_4_AND_2, 109, 334),
    ("convolve_HWC_q7_RGB", unequal(IN_C, 3), unequal(IN_C, 3), 109, 238),
    ("convolve_1x1_HWC_q7_fast_nonsquare", _POINT, _POINT, 117, 190),
    ("convolve_HWC_q15_fast", any_of(_BY_2, unequal(OUT_W % 2, 0)), _BY_2, 105, 217),
    ("convolve_HWC_q15_fast_nonsquare", _BY_2, _BY_2, 113, 227),
    ("depthwise_separable_conv_HWC_q7", _CHANNELS, _CHANNELS, 112, 382),
    ("depthwise_separable_conv_HWC_q7_nonsquare", _CHANNELS, _CHANNELS, 120, 387),
)
"""Entry point, what its dsp code refuses, what its plain C code refuses, and the lines of both in 5.9.0."""


def _refusal(entry: str, when: Condition, line: int, isas: tuple[Isa, ...]) -> Hazard:
    function = f"arm_{entry}"
    name = entry.lower().replace("_", "-")
    return Hazard(
        id=f"{name}-sizes-{'dsp' if isas == (Isa.DSP,) else 'plain'}",
        kind="returns-error",
        entries=(entry,),
        kernels=(function,),
        origin=Origin(f"{CONVOLUTION}{function}.c", function, {V5_9: line}, isas, until="4.0.0"),
        when=when,
        evidence="read in the source",
        brief="returns ARM_MATH_SIZE_MISMATCH for these sizes",
        what="The function takes only some sizes and returns ARM_MATH_SIZE_MISMATCH for these.",
        way_round="Choose sizes that it takes.",
        status=-3,
    )


# "DSP and not MVEI" guards the dsp code of 5.9.0, so that MVE runs the plain C code.
HAZARDS = tuple(
    hazard
    for entry, dsp, plain, dsp_line, plain_line in _REFUSALS
    for hazard in (
        _refusal(entry, dsp, dsp_line, (Isa.DSP,)),
        _refusal(entry, plain, plain_line, (Isa.SCALAR, Isa.MVE)),
    )
)
