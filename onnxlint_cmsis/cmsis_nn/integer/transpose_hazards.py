"""Hazards of arm_transpose_s8.

arm_transpose_s8_nhcw turns two axes, and on MVE the last two of four, with 16-bit sizes. Of two axes the last two
sizes of a call are the axes, w rows by c columns; the function is given 1 x 1 x n x h.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import IN, PERMUTATION, PERMUTED_AXES
from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of, any_of, equal, greater
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, MVE_ONLY, NOT_MVE, Origin
from onnxlint_cmsis.cmsis_nn.terms import minimum, named
from onnxlint_cmsis.ground.types import Isa

LARGEST_U16 = 65535
_FILE = "Source/TransposeFunctions/arm_transpose_s8.c"
_FUNCTION, _LOOP = "arm_transpose_s8", "arm_transpose_s8_nhcw"
_TWO_AXES = equal(PERMUTED_AXES, 2)
_LAST_TWO_OF_FOUR = all_of(equal(PERMUTED_AXES, 4), equal(PERMUTATION[0], 0), equal(PERMUTATION[1], 1))
_WIDE = any_of(greater(IN.w, LARGEST_U16), greater(IN.c, LARGEST_U16))
_GATHERED = greater(named("last_lane", minimum(IN.w - 1, 7)) * IN.c, LARGEST_U16)


def _row(name: str, when: Condition, isas: tuple[Isa, ...], at: tuple[str, int], words: tuple[str, str]) -> Hazard:
    """A hazard. `at`: C function and line. `words`: what happens, and what helps."""
    function, line = at
    return Hazard(
        id=name,
        kind="wrong-result",
        entries=("transpose_s8",),
        of_kernels=(_FUNCTION,),
        origin=Origin(_FILE, function, {"7.0.0": line, "main": line}, isas),
        when=when,
        brief="moves elements to the wrong place",
        what=words[0],
        way_round=words[1],
    )


TRANSPOSE_HAZARDS = (
    _row(
        "transpose-16-bit-sizes",
        all_of(_TWO_AXES, _WIDE),
        NOT_MVE,
        (_LOOP, 57),
        (
            "The loop over two axes keeps their sizes in uint16_t: above 65,535 part of the elements is never moved.",
            "Split the tensor so that no axis is above 65,535, or add an axis of 1.",
        ),
    ),
    _row(
        "transpose-16-bit-offsets",
        all_of(any_of(_TWO_AXES, _LAST_TWO_OF_FOUR), any_of(_WIDE, _GATHERED)),
        MVE_ONLY,
        (_LOOP, 58),
        (
            "Sizes, and the offsets of the up to 8 elements that are gathered at a time, are kept in 16 bits: elements "
            "from 65,536 on behind the first are read from the wrong place.",
            "Keep the last axis at 9,362 or less, or let the permutation move an axis in front of the last two.",
        ),
    ),
    _row(
        "transpose-identity-of-two",
        all_of(_TWO_AXES, equal(PERMUTATION[0], 0), greater(IN.w, 1), greater(IN.c, 1)),
        ALL_ISAS,
        (_FUNCTION, 193),
        (
            "Of two axes the function turns both without a look at the permutation, also where they stay.",
            "Leave out the Transpose, which moves nothing.",
        ),
    ),
    _row(
        "transpose-identity",
        all_of(_LAST_TWO_OF_FOUR, equal(PERMUTATION[2], 2), greater(IN.w, 1), greater(IN.c, 1)),
        MVE_ONLY,
        (_FUNCTION, 232),
        (
            "Of four axes the function turns the last two where the first two stay, without a look at the rest of the "
            "permutation: also where they stay as well.",
            "Leave out the Transpose, which moves nothing.",
        ),
    ),
)
