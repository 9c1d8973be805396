"""What the functions for q7 and q15 of CMSIS 5 do not check: paddings, odd outputs, large planes."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN, OUT, PAD, PAD_AFTER, STRIDE, TAPS
from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, all_of, any_of, at_least, equal, greater, unequal
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.legacy.builds import LegacyBuild, Lines
from onnxlint_cmsis.cmsis_nn.legacy.fault_rows import (
    NO_CONDITION,
    FaultyFunction,
    UncheckedFault,
    everywhere,
    fault_row,
    in_dsp,
    in_gcc,
    in_old_plain,
)
from onnxlint_cmsis.cmsis_nn.releases import V5_6, V5_7, V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, Origin
from onnxlint_cmsis.cmsis_nn.terms import Term
from onnxlint_cmsis.ground.types import Isa
from onnxlint_cmsis.ground.words import RETRAIN

LARGEST_U16 = 0xFFFF
_INDEX = 128
"""Smallest index that a signed char does not hold."""
_BASIC = "The basic function looks at each element of the input."
_MIDDLE_H, _MIDDLE_W = greater(OUT.h, 2 * PAD.h), greater(OUT.w, 2 * PAD.w)

_PADDING_AFTER = UncheckedFault(
    "padding-after",
    "wrong-result",
    any_of(
        all_of(_MIDDLE_H, greater(PAD_AFTER.h, STRIDE.h * PAD.h)),
        all_of(_MIDDLE_H, _MIDDLE_W, greater(PAD_AFTER.w, STRIDE.w * PAD.w)),
    ),
    "reads past its input where there is more padding behind than in front",
    "The function has one padding for both sides of an axis, and its code for DSP looks for padding behind only in the "
    "last `padding` rows and columns; windows in front of these that leave the input read what lies behind it.",
    _BASIC,
)

_PADDING_BEYOND_OUTPUT = UncheckedFault(
    "padding-beyond-output",
    "overrun",
    any_of(greater(PAD.h, OUT.h), all_of(_MIDDLE_H, greater(PAD.w, OUT.w))),
    "writes more rows or columns than the output has",
    "Its code for DSP writes `padding` rows at the top and `padding` columns on the left, however few the output has.",
    _BASIC,
)

_ANY_PADDING_AFTER = _PADDING_AFTER._replace(
    when=any_of(greater(PAD_AFTER.h, 0), greater(PAD_AFTER.w, 0)),
    brief="reads past its input where there is padding behind",
    what="Its code for DSP never compares a place with the size of the input.",
)

_ODD_OUTPUT = UncheckedFault(
    "odd-output",
    "overrun",
    unequal(OUT.w % 2, 0),
    "leaves out the last column of an odd output and runs past its buffer",
    "Its code for DSP computes two columns at a time and leaves the last one of a row in the buffer, which grows with "
    "every row.",
    f"The basic function takes any square output. Another input size, so that the output is even, {RETRAIN}.",
)

_OVERTAKEN = all_of(greater(PAD.w, 0), at_least(PAD.w, STRIDE.w), greater(OUT.w, 1))

_IN_PLACE = UncheckedFault(
    "in-place",
    "wrong-result",
    _OVERTAKEN,
    "pools columns that it has overwritten with results",
    "Its code for DSP pools along the width in place; where the padding is as large as the stride, a result lands on a "
    "column that a window still reads.",
    f"Put a Pad in front. A stride above the padding works, too, but {RETRAIN}.",
)


def _beyond(size: Term, out: Term, taps: Term, stride: Term, pad: Term) -> Condition:
    """Tell whether a window reads input whose index a signed char does not hold."""
    return all_of(greater(size, _INDEX), at_least((out - 1) * stride + taps - 1 - pad, _INDEX))


# The average is written after its window is read: a first window of one column does not change that column.
_AVERAGED_IN_PLACE = _IN_PLACE._replace(
    when=all_of(_OVERTAKEN, any_of(greater(PAD.w, STRIDE.w), equal(STRIDE.w, 1), greater(FILTER.w, PAD.w + 1)))
)

_LARGE_PLANE = UncheckedFault(
    "8-bit-index",
    "wrong-result",
    any_of(_beyond(IN.h, OUT.h, FILTER.h, STRIDE.h, PAD.h), _beyond(IN.w, OUT.w, FILTER.w, STRIDE.w, PAD.w)),
    "takes rows and columns from the 129th on for padding",
    "Its scalar code keeps the row and the column of the input in a signed char.",
    "CMSIS 5 5.8.0 keeps them in an int.",
)

_MANY_ELEMENTS = UncheckedFault(
    "16-bit-size",
    "too-large",
    greater(IN.n * IN.h * IN.w * IN.c, LARGEST_U16),
    "takes the number of elements as 16 bits",
    "The argument `size` is a uint16_t: of more than 65,535 elements the rest stays as it is.",
    "Call it for parts of at most 65,535 elements.",
)

_UNALIGNED = UncheckedFault(
    "unaligned-store",
    "wrong-result",
    all_of(unequal(IN.c % 2, 0), at_least(IN.c, 4), greater(TAPS * (OUT.h * OUT.w), 1)),
    "stops with a fault where gcc joins two stores",
    "In 5.6.0 arm_q7_to_q15_no_shift writes two words one after the other through a pointer that an odd number of "
    "channels leaves unaligned; gcc makes one STRD of them, which has to be aligned.",
    "CMSIS 5 5.7.0 writes them with a function that gcc does not join; an even number of channels is aligned.",
)

_OTHER_CLASS = UncheckedFault(
    "8-bit-difference",
    "wrong-result",
    at_least(IN.c, 4),
    "gives a score far below the largest one as much as that one",
    "Its code for DSP takes differences of scores in 8 bits: of each four scores one that is 123 or more below the "
    "largest one gets 127, as that one does.",
    "CMSIS 5 5.6.0 and 5.8.0 take them in 32 bits. Or take the class from the scores, which softmax does not change.",
)

_DOUBLED = UncheckedFault(
    "doubled",
    "wrong-result",
    at_least(IN.c, 2),
    "gives twice the numbers, as far as 127 allows",
    "The largest score counts half in the sum, as its power of 2 is cut off to 7 bits, and the results are scaled for "
    "8 bits. The order of the classes stays.",
    "Take the class of the largest result and not its number, or use CMSIS 5 5.6.0.",
)

_NEGATIVE_INDEX = UncheckedFault(
    "negative-index",
    "wrong-result",
    TRUE,
    "takes every negative number for 0",
    "It limits the index of its table to 0 and more, where negative numbers have the upper half of the table: their "
    "sigmoid is 0.5, their tanh 0. Above the last index but one it goes towards the value of the least number.",
    "CMSIS 5 5.8.0 reads the upper half.",
)


def _in_releases(
    fault: UncheckedFault, function: FaultyFunction, end: str, lines: dict[str, int], isas: tuple[Isa, ...]
) -> Hazard:
    """The fault in the releases of `lines`: all to the newest, or to 5.7.0."""
    until = "" if V5_9 in lines else V5_8
    origin = Origin(f"Source/{function.path}", function.function, lines, isas, until=until)
    return fault_row(fault, function, LegacyBuild(end, origin))


_SOFTMAX = FaultyFunction("softmax_q7", "arm_softmax_q7", "SoftmaxFunctions/arm_softmax_q7.c", NO_CONDITION)

_ACTIVATION = FaultyFunction(
    "activation_q15", "arm_nn_activations_direct_q15", "ActivationFunctions/arm_nn_activations_q15.c", NO_CONDITION
)


def _conv(entry: str, function: str, *lines: int) -> FaultyFunction:
    four: Lines = (lines[0], lines[1], lines[2], lines[3])
    return FaultyFunction(entry, function, f"ConvolutionFunctions/{function}.c", four)


def _pool(entry: str, function: str, lines: Lines) -> FaultyFunction:
    return FaultyFunction(entry, function, "PoolingFunctions/arm_pool_q7_HWC.c", lines)


def _relu(kind: str) -> FaultyFunction:
    function = f"arm_relu_{kind}"
    return FaultyFunction(f"relu_{kind}", function, f"ActivationFunctions/{function}.c", (55, 54, 54, 54))


_FAST, _FAST_NONSQUARE = "arm_convolve_HWC_q7_fast", "arm_convolve_HWC_q7_fast_nonsquare"
_WRONG_POINT = "arm_convolve_1x1_HWC_q7_fast_nonsquare"
_FAST_Q15, _FAST_Q15_NONSQUARE = "arm_convolve_HWC_q15_fast", "arm_convolve_HWC_q15_fast_nonsquare"

_INDEXED = (
    ("convolve_q7", "arm_convolve_HWC_q7_basic", 189, 190),
    ("convolve_q7", "arm_convolve_HWC_q7_basic_nonsquare", 187, 188),
    ("convolve_q7", _FAST, 361, 361),
    ("convolve_q7", "arm_convolve_HWC_q7_RGB", 232, 232),
    ("convolve_q15", "arm_convolve_HWC_q15_basic", 167, 167),
    ("convolve_q15", _FAST_Q15, 209, 209),
    ("convolve_q15", _FAST_Q15_NONSQUARE, 219, 219),
)

LEGACY_WRONG_RESULTS: tuple[Hazard, ...] = (
    *in_dsp(_PADDING_AFTER, _conv("convolve_q7", _FAST, 174, 174, 169, 169)),
    *in_dsp(_PADDING_AFTER, _conv("convolve_q7", _FAST_NONSQUARE, 159, 159, 159, 159)),
    *in_dsp(_PADDING_BEYOND_OUTPUT, _conv("convolve_q7", _FAST, 136, 136, 135, 135)),
    *in_dsp(_PADDING_BEYOND_OUTPUT, _conv("convolve_q7", _FAST_NONSQUARE, 123, 123, 123, 123)),
    *in_dsp(_ANY_PADDING_AFTER, _conv("convolve_q7", _WRONG_POINT, 129, 129, 130, 130)),
    *in_dsp(_ODD_OUTPUT, _conv("convolve_q15", _FAST_Q15, 134, 134, 137, 139))[:1],  # 5.9.0 checks for it
    *in_dsp(_ODD_OUTPUT, _conv("convolve_q15", _FAST_Q15_NONSQUARE, 144, 144, 149, 149)),
    *in_dsp(_IN_PLACE, _pool("max_pool_q7", "arm_maxpool_q7_HWC", (217, 212, 216, 216))),
    *in_dsp(_AVERAGED_IN_PLACE, _pool("avgpool_q7", "arm_avepool_q7_HWC", (371, 364, 373, 373))),
    *(in_old_plain(_LARGE_PLANE, _conv(*row, 0, 0)) for row in _INDEXED),
    in_gcc(_UNALIGNED, _conv("convolve_q7", "arm_convolve_HWC_q7_basic", 120, 0, 0, 0)),
    in_gcc(_UNALIGNED, _conv("convolve_q7", "arm_convolve_HWC_q7_basic_nonsquare", 118, 0, 0, 0)),
    everywhere(_MANY_ELEMENTS, _relu("q7")),
    everywhere(_MANY_ELEMENTS, _relu("q15")),
    _in_releases(_OTHER_CLASS, _SOFTMAX, "dsp-5-7", {V5_7: 177}, (Isa.DSP, Isa.MVE)),
    _in_releases(_DOUBLED, _SOFTMAX, "dsp-5-7", {V5_7: 143}, (Isa.DSP, Isa.MVE)),
    _in_releases(_DOUBLED, _SOFTMAX, "plain-5-7", {V5_7: 244}, (Isa.SCALAR,)),
    _in_releases(_DOUBLED, _SOFTMAX, "", {V5_8: 89, V5_9: 89}, ALL_ISAS),
    _in_releases(_NEGATIVE_INDEX, _ACTIVATION, "5-7", {V5_6: 87, V5_7: 77}, ALL_ISAS),
)
"""In the order of the functions."""
