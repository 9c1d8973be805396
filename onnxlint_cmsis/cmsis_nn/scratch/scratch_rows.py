"""What the size tables share: runs of releases and a short way to write a case."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition
from onnxlint_cmsis.cmsis_nn.expressions import Term, term
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, CONVOLUTION, Origin, Size
from onnxlint_cmsis.types import Isa

R5_8, R5_9 = ("cmsis5-5.8.0",), ("cmsis5-5.9.0",)
R4_0, R4_1, R5, R6, R7, MAIN = ("4.0.0",), ("4.1.0",), ("5.0.0",), ("6.0.0",), ("7.0.0",), ("main",)
FROM_7 = R7 + MAIN
FROM_6 = R6 + FROM_7
FROM_5 = R5 + FROM_6
FROM_4_1 = R4_1 + FROM_5
FROM_4 = R4_0 + FROM_4_1
R4_TO_R5 = R4_0 + R4_1 + R5
ALL = R5_8 + R5_9 + FROM_4
DSP_ONLY = (Isa.DSP,)


def within(
    function: str,
    releases: tuple[str, ...],
    isas: tuple[Isa, ...] = ALL_ISAS,
    compilers: tuple[str, ...] = ("gcc", "armclang"),
) -> Origin:
    """A size function in some releases and builds; its lines were not recorded."""
    return Origin(CONVOLUTION, function, dict.fromkeys(releases, 0), isas, compilers)


def size(number: Term | int, origin: Origin, when: Condition = TRUE) -> Size:
    """One case: so many bytes when the condition holds."""
    return Size(term(number), origin, when)
