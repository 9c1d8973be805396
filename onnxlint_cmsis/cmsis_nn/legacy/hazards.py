"""The functions for q7 and q15 of CMSIS 5 that return ARM_MATH_SIZE_MISMATCH for sizes they do not take."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import FILTER_1X1, IN, NO_PADDING, OUT, UNIT_STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import Condition, any_of, not_, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.legacy.builds import Lines, legacy_builds
from onnxlint_cmsis.ground.named_tuples import NamedTuple

_BY_4_AND_2 = any_of(unequal(IN.c % 4, 0), unequal(OUT.c % 2, 0))
_BY_2 = any_of(unequal(IN.c % 2, 0), unequal(OUT.c % 2, 0))
_ERROR_POINT = any_of(_BY_4_AND_2, not_(FILTER_1X1), not_(NO_PADDING), not_(UNIT_STRIDE))
_CHANNELS = unequal(IN.c, OUT.c)


class _Check(NamedTuple):
    name: str
    """Function without `arm_`, which is an entry point too."""
    refused: Condition
    """What it refuses."""
    dsp: Lines
    """Its lines in the code for DSP."""
    plain: Lines
    """Its lines in the scalar code."""
    newest_dsp: Condition | None = None
    """What the code for DSP of 5.9.0 refuses, where that is more."""
    choice: str = ""
    """Entry point of the choice that calls the function without knowing of the check."""


_CHECKS = (
    _Check("convolve_HWC_q7_fast", _BY_4_AND_2, (122, 122, 121, 121), (363, 363, 337, 337)),
    _Check("convolve_HWC_q7_fast_nonsquare", _BY_4_AND_2, (109, 109, 109, 109), (335, 335, 334, 334)),
    _Check("convolve_HWC_q7_RGB", unequal(IN.c, 3), (106, 106, 109, 109), (235, 235, 237, 238)),
    _Check("convolve_1x1_HWC_q7_fast_nonsquare", _ERROR_POINT, (117, 117, 117, 117), (191, 192, 190, 190)),
    _Check(
        "convolve_HWC_q15_fast",
        _BY_2,
        (104, 104, 103, 105),
        (211, 211, 215, 217),
        any_of(_BY_2, unequal(OUT.w % 2, 0)),
    ),
    _Check("convolve_HWC_q15_fast_nonsquare", _BY_2, (114, 114, 113, 113), (221, 221, 227, 227)),
    _Check(
        "depthwise_separable_conv_HWC_q7",
        _CHANNELS,
        (112, 112, 112, 112),
        (373, 373, 382, 382),
        choice="depthwise_q7",
    ),
    _Check(
        "depthwise_separable_conv_HWC_q7_nonsquare",
        _CHANNELS,
        (118, 120, 120, 120),
        (369, 371, 387, 387),
        choice="depthwise_q7",
    ),
)

LEGACY_HAZARDS = tuple(
    Hazard(
        id=f"{check.name.lower().replace('_', '-')}-sizes-{build.name}",
        kind="returns-error",
        entries=(check.name, *([check.choice] if check.choice else [])),
        origin=build.origin,
        when=check.newest_dsp if check.newest_dsp and build.name == "dsp" else check.refused,
        brief="returns ARM_MATH_SIZE_MISMATCH for these sizes",
        what="The function takes only some sizes and returns ARM_MATH_SIZE_MISMATCH for these.",
        way_round="Choose sizes that it takes.",
        status=-3,
    )
    for check in _CHECKS
    for build in legacy_builds(f"ConvolutionFunctions/arm_{check.name}.c", f"arm_{check.name}", check.dsp, check.plain)
)
