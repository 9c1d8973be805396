"""What the size tables share: a short way to write a case."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition
from onnxlint_cmsis.cmsis_nn.expressions import Term, term
from onnxlint_cmsis.cmsis_nn.rows import ALL_ISAS, CONVOLUTION, Origin, ScratchSize
from onnxlint_cmsis.types import Isa

DSP_ONLY = (Isa.DSP,)


def within(
    function: str,
    since: str,
    isas: tuple[Isa, ...] = ALL_ISAS,
    compilers: tuple[str, ...] = ("gcc", "armclang"),
    until: str = "",
) -> Origin:
    """A size function from `since` to before `until`, in some builds; its lines were not recorded."""
    return Origin(CONVOLUTION, function, {since: 0}, isas, compilers, until)


def size(number: Term | int, origin: Origin, when: Condition = TRUE) -> ScratchSize:
    """One case: so many bytes when the condition holds."""
    return ScratchSize(term(number), origin, when)
