"""The 1xN kernels on MVE: geometries they refuse, and geometries the s8 kernel computes wrongly."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import all_of, any_of, at_least, at_most, equal, greater, not_, unequal
from onnxlint_cmsis.cmsis_nn.expressions import Term, named
from onnxlint_cmsis.cmsis_nn.names import (
    ASYM_PAD,
    COLUMNS_FIT,
    FILTER_W,
    IN_W,
    LEFT_PAD_NUM,
    NARROW_OUTPUT,
    NO_PAD_NUM,
    OUT_W,
    PAD_W,
    PADDING_ACCEPTED,
    RIGHT_PAD_NUM,
    STRIDE_W,
)
from onnxlint_cmsis.cmsis_nn.rows import CONVOLUTION, MVE_ONLY, RETRAIN, Hazard, Origin

_S8, _S4 = "arm_convolve_1_x_n_s8", "arm_convolve_1_x_n_s4"
_ENTRIES_S8 = ("convolve_s8", "depthwise_s8")
_GEOMETRY = (
    "On MVE the kernel returns ARM_CMSIS_NN_FAILURE unless padding.w is half of all the padding along the width "
    "(total_pad, what the output's width implies, before and after), rounded towards zero."
)
_IN_ASSEMBLY = (
    "the kernel works out a negative length for it, and its inline assembly reads outside the input. The C code that "
    "ARM_MATH_AUTOVECTORIZE takes is right."
)
_NARROW = (
    "On MVE the kernel returns ARM_CMSIS_NN_FAILURE where the output is narrower than the columns that padding touches."
)

# Columns that each strip computes, left to right, and the inputs left at the first right-padded one.
_AVAILABLE = named("inputs_left", IN_W - ((LEFT_PAD_NUM + NO_PAD_NUM) * STRIDE_W - PAD_W))


def _window_end(columns: Term, name: str) -> Term:
    """One past the last input that the last of the first `columns` output columns reads."""
    return named(name, (columns - 1) * STRIDE_W - PAD_W + FILTER_W)


_LEFT_END = _window_end(LEFT_PAD_NUM, "end_of_left_columns")
_MIDDLE_END = _window_end(LEFT_PAD_NUM + NO_PAD_NUM, "end_of_middle_columns")
_ZEROS_NEEDED = named("zeros_needed", (RIGHT_PAD_NUM - 1) * STRIDE_W + 1)


# The right strip holds exactly filter_w - 1 inputs and then its zeros: asym_pad != 0 gives one per right column,
# otherwise padding.w of them. Its first column needs those inputs to be all that is left, its last column the zeros.
_RIGHT_STRIP = all_of(
    at_most(_AVAILABLE, FILTER_W - 1),
    any_of(equal(FILTER_W, 1), at_least(_AVAILABLE, FILTER_W - 1)),
    any_of(
        all_of(unequal(ASYM_PAD, 0), at_most(_ZEROS_NEEDED, RIGHT_PAD_NUM)),
        all_of(equal(ASYM_PAD, 0), at_most(_ZEROS_NEEDED, PAD_W)),
    ),
)
_RIGHT_VALUES = all_of(
    any_of(equal(LEFT_PAD_NUM, 0), at_most(_LEFT_END, IN_W)),
    any_of(equal(NO_PAD_NUM, 0), at_most(_MIDDLE_END, IN_W)),
    any_of(equal(RIGHT_PAD_NUM, 0), _RIGHT_STRIP),
)
WRONG_VALUES = all_of(PADDING_ACCEPTED, COLUMNS_FIT, not_(_RIGHT_VALUES))
"""Exactly the geometries for which some tap reads another input than the convolution asks for."""


_LAST_WINDOW = named("start_of_last_window", (OUT_W - 1) * STRIDE_W - PAD_W)


def _at(kernel: str, lines: dict[str, int], until: str = "") -> Origin:
    return Origin(f"{CONVOLUTION}{kernel}.c", kernel, lines, MVE_ONLY, until=until)


HAZARDS = (
    Hazard(
        id="conv-1xn-geometry-refused",
        kind="returns-error",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, {"4.1.0": 86, "5.0.0": 86, "6.0.0": 83, "7.0.0": 83, "main": 83}),
        when=not_(PADDING_ACCEPTED),
        evidence="read in the source",
        brief="returns ARM_CMSIS_NN_FAILURE for this padding",
        what=_GEOMETRY,
        status=-3,
    ),
    Hazard(
        id="conv-1xn-narrow-output-refused",
        kind="returns-error",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, {"4.1.0": 94, "5.0.0": 94}, "6.0.0"),
        when=NARROW_OUTPUT,
        evidence="read in the source",
        reported="issue 109",
        brief="returns ARM_CMSIS_NN_FAILURE for so narrow an output",
        what=_NARROW,
        status=-3,
    ),
    Hazard(
        id="conv-1xn-window-in-padding",
        kind="overrun",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, {"4.0.0": 103}, "4.1.0"),
        when=any_of(greater(PAD_W, FILTER_W), greater(_LAST_WINDOW, IN_W)),
        evidence="read in the source",
        brief="reads outside the input",
        what=f"A window lies wholly in the padding on the left or on the right; {_IN_ASSEMBLY}",
        assembly=True,
        way_round=f"Let the runtime pad in a separate layer. Less padding works, too, but {RETRAIN}.",
    ),
    Hazard(
        id="conv-1xn-window-outside",
        kind="overrun",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, {"4.1.0": 72, "5.0.0": 72}, "6.0.0"),
        when=greater(_LAST_WINDOW, IN_W),
        evidence="read in the source",
        brief="reads outside the input",
        what=f"The last window lies wholly in the padding on the right; {_IN_ASSEMBLY}",
        assembly=True,
    ),
    Hazard(
        id="conv-1xn-wrong-values",
        kind="wrong-result",
        entries=_ENTRIES_S8,
        kernels=(_S8,),
        origin=_at(_S8, {"6.0.0": 187, "7.0.0": 188, "main": 188}),
        when=WRONG_VALUES,
        breach=not_(_RIGHT_VALUES),
        evidence="read in the source",
        brief="gives wrong values in the padded columns",
        what="On MVE the kernel builds the padded columns from a strip that does not hold the inputs they need: "
        "status SUCCESS, wrong values.",
    ),
    Hazard(
        id="conv-1xn-s4-geometry-refused",
        kind="returns-error",
        entries=("convolve_s4",),
        kernels=(_S4,),
        origin=_at(_S4, {"6.0.0": 85, "7.0.0": 85, "main": 84}),
        when=not_(PADDING_ACCEPTED),
        evidence="read in the source",
        brief="returns ARM_CMSIS_NN_FAILURE for this padding",
        what=_GEOMETRY,
        status=-3,
    ),
    Hazard(
        id="conv-1xn-s4-narrow-output-refused",
        kind="returns-error",
        entries=("convolve_s4",),
        kernels=(_S4,),
        origin=_at(_S4, {"6.0.0": 94, "7.0.0": 94, "main": 93}),
        when=NARROW_OUTPUT,
        evidence="read in the source",
        brief="returns ARM_CMSIS_NN_FAILURE for so narrow an output",
        what=_NARROW,
        status=-3,
    ),
)
