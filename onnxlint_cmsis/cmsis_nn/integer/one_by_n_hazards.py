"""Hazards of the 1xN kernels on MVE: geometries they refuse, and geometries the s8 kernel computes wrongly."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import (
    ASYM_PAD,
    COLUMNS_FIT,
    FILTER,
    IN,
    LEFT_PAD_NUM,
    NARROW_OUTPUT,
    NO_PAD_NUM,
    OUT,
    PAD,
    PADDING_ACCEPTED,
    RIGHT_PAD_NUM,
    STRIDE,
)
from onnxlint_cmsis.cmsis_nn.conditions import all_of, any_of, at_least, at_most, equal, greater, not_, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.releases import V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import MVE_ONLY, kernel_at
from onnxlint_cmsis.cmsis_nn.terms import Term, maximum, named
from onnxlint_cmsis.ground.words import RETRAIN

_S8, _S4 = "arm_convolve_1_x_n_s8", "arm_convolve_1_x_n_s4"
_ENTRIES_S8 = ("convolve_s8", "depthwise_s8")

_IN_ASSEMBLY = (
    "the kernel works out a negative length for it, and its inline assembly reads outside the input. The C code that "
    "ARM_MATH_AUTOVECTORIZE takes is right."
)


# Columns that each strip computes, left to right, and the inputs left at the first right-padded one.
_AVAILABLE = named("inputs_left", IN.w - ((LEFT_PAD_NUM + NO_PAD_NUM) * STRIDE.w - PAD.w))


def _window_end(columns: Term, name: str) -> Term:
    """One past the last input that the first `columns` output columns read."""
    return named(name, (columns - 1) * STRIDE.w - PAD.w + FILTER.w)


_LEFT_END = _window_end(LEFT_PAD_NUM, "end_of_left_columns")
_MIDDLE_END = _window_end(LEFT_PAD_NUM + NO_PAD_NUM, "end_of_middle_columns")
_ZEROS_NEEDED = named("zeros_needed", (RIGHT_PAD_NUM - 1) * STRIDE.w + 1)


# The right strip holds exactly filter_w - 1 inputs and then its zeros: asym_pad != 0 gives one per right column,
# otherwise padding.w of them. Its first column needs those inputs to be all that is left, its last column the zeros.
_RIGHT_STRIP = all_of(
    at_most(_AVAILABLE, FILTER.w - 1),
    any_of(equal(FILTER.w, 1), at_least(_AVAILABLE, FILTER.w - 1)),
    any_of(
        all_of(unequal(ASYM_PAD, 0), at_most(_ZEROS_NEEDED, RIGHT_PAD_NUM)),
        all_of(equal(ASYM_PAD, 0), at_most(_ZEROS_NEEDED, PAD.w)),
    ),
)

_RIGHT_VALUES = all_of(
    any_of(equal(LEFT_PAD_NUM, 0), at_most(_LEFT_END, IN.w)),
    any_of(equal(NO_PAD_NUM, 0), at_most(_MIDDLE_END, IN.w)),
    any_of(equal(RIGHT_PAD_NUM, 0), _RIGHT_STRIP),
)

_INPUTS_MISSING = greater(FILTER.w - 1, maximum(_AVAILABLE, 0))
_PAST_INPUT = all_of(unequal(RIGHT_PAD_NUM, 0), _INPUTS_MISSING)
"""The right strip is filled past the input's end, and its first column reads all of it."""
WRONG_VALUES = all_of(PADDING_ACCEPTED, COLUMNS_FIT, not_(_RIGHT_VALUES), not_(_PAST_INPUT))
"""With `_PAST_INPUT` all geometries, and no other ones, where some tap reads a wrong input."""
_LAST_WINDOW = named("start_of_last_window", (OUT.w - 1) * STRIDE.w - PAD.w)
_SEVERAL_ROWS = any_of(unequal(OUT.h, 1), unequal(PAD.h, 0))
_DEF_1_X_N = {V5_8: 50, V5_9: 50, "4.0.0": 50, "4.1.0": 50, "5.0.0": 50}
_DEF_1_X_N_6 = {"6.0.0": 48, "7.0.0": 48, "main": 48}
_DEF_1_X_N_S4 = {"6.0.0": 49, "7.0.0": 49, "main": 49}

_GEOMETRY_REFUSED = Hazard(
    id="conv-1xn-geometry-refused",
    kind="returns-error",
    entries=_ENTRIES_S8,
    origin=kernel_at(_S8, {"4.1.0": 86, "5.0.0": 86, "6.0.0": 83, "7.0.0": 83, "main": 83}, MVE_ONLY),
    when=not_(PADDING_ACCEPTED),
    brief="returns ARM_CMSIS_NN_FAILURE for this padding",
    what="On MVE the kernel returns ARM_CMSIS_NN_FAILURE unless padding.w is half of all the padding along the width "
    "(total_pad, what the output's width implies, before and after), rounded towards zero.",
    status=-3,
)

_NARROW_OUTPUT_REFUSED = Hazard(
    id="conv-1xn-narrow-output-refused",
    kind="returns-error",
    entries=_ENTRIES_S8,
    origin=kernel_at(_S8, {"4.1.0": 94, "5.0.0": 94}, MVE_ONLY, "6.0.0"),
    when=NARROW_OUTPUT,
    reported="issue 109",
    brief="returns ARM_CMSIS_NN_FAILURE for so narrow an output",
    what="On MVE the kernel returns ARM_CMSIS_NN_FAILURE where the output is narrower than the columns that padding "
    "touches.",
    status=-3,
)

_ONE_ROW = Hazard(
    id="conv-1xn-one-row",
    kind="wrong-result",
    entries=_ENTRIES_S8,
    origin=kernel_at(_S8, _DEF_1_X_N_6, MVE_ONLY),
    when=all_of(COLUMNS_FIT, _SEVERAL_ROWS),
    breach=_SEVERAL_ROWS,
    brief="computes one row of the output, as if no row were padded",
    what="The wrapper chooses the kernel by the heights of input and window. On MVE the kernel reads neither padding.h "
    "nor output_dims.h and computes one row per image, that of the input: status SUCCESS, wrong values where rows are "
    "padded above or below.",
    way_round="Let the runtime pad in a separate layer.",
)

ONE_BY_N_HAZARDS = (
    _GEOMETRY_REFUSED,
    _NARROW_OUTPUT_REFUSED,
    _ONE_ROW,
    _ONE_ROW._replace(
        id="conv-1xn-one-row-5",
        origin=kernel_at(_S8, _DEF_1_X_N, MVE_ONLY, "6.0.0"),
        when=_SEVERAL_ROWS,
    ),
    Hazard(
        id="conv-1xn-window-in-padding",
        kind="overrun",
        entries=_ENTRIES_S8,
        origin=kernel_at(_S8, {"4.0.0": 103}, MVE_ONLY, "4.1.0"),
        when=any_of(greater(PAD.w, FILTER.w), greater(_LAST_WINDOW, IN.w)),
        brief="reads outside the input",
        what=f"A window lies wholly in the padding on the left or on the right; {_IN_ASSEMBLY}",
        assembly=True,
        way_round=f"Let the runtime pad in a separate layer. Less padding works, too, but {RETRAIN}.",
    ),
    Hazard(
        id="conv-1xn-window-outside",
        kind="overrun",
        entries=_ENTRIES_S8,
        origin=kernel_at(_S8, {"4.1.0": 72, "5.0.0": 72}, MVE_ONLY, "6.0.0"),
        when=greater(_LAST_WINDOW, IN.w),
        brief="reads outside the input",
        what=f"The last window lies wholly in the padding on the right; {_IN_ASSEMBLY}",
        assembly=True,
    ),
    Hazard(
        id="conv-1xn-wrong-values",
        kind="wrong-result",
        entries=_ENTRIES_S8,
        origin=kernel_at(_S8, {"6.0.0": 187, "7.0.0": 188, "main": 188}, MVE_ONLY),
        when=WRONG_VALUES,
        breach=not_(_RIGHT_VALUES),
        brief="gives wrong values in the padded columns",
        what="On MVE the kernel builds the padded columns from a strip that does not hold the inputs they need: "
        "status SUCCESS, wrong values.",
    ),
    Hazard(
        id="conv-1xn-reads-past-input",
        kind="overrun",
        entries=_ENTRIES_S8,
        origin=kernel_at(_S8, {"6.0.0": 187, "7.0.0": 188, "main": 188}, MVE_ONLY),
        when=all_of(PADDING_ACCEPTED, COLUMNS_FIT, _PAST_INPUT),
        breach=_INPUTS_MISSING,
        brief="reads past its input for the padded columns on the right",
        what="On MVE the kernel copies filter.w - 1 inputs for the padded columns on the right, also where fewer are "
        "left: what lies behind the input decides these values, status SUCCESS.",
    ),
    _GEOMETRY_REFUSED._replace(
        id="conv-1xn-s4-geometry-refused",
        entries=("convolve_s4",),
        origin=kernel_at(_S4, {"6.0.0": 85, "7.0.0": 85, "main": 84}, MVE_ONLY),
    ),
    _NARROW_OUTPUT_REFUSED._replace(
        id="conv-1xn-s4-narrow-output-refused",
        entries=("convolve_s4",),
        origin=kernel_at(_S4, {"6.0.0": 94, "7.0.0": 94, "main": 93}, MVE_ONLY),
        reported="",
    ),
    _ONE_ROW._replace(
        id="conv-1xn-s4-one-row",
        entries=("convolve_s4",),
        origin=kernel_at(_S4, _DEF_1_X_N_S4, MVE_ONLY),
        when=_SEVERAL_ROWS,
    ),
)
