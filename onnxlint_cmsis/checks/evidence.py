"""Whether another kernel is really the better one: measured pairs of shapes, never a kernel's name.

Each pair is one layer before and after its channel count took the kernel a check wants. A row speaks of one
entry point, and so of one data type: only s8 was measured, and nothing is said of s4 and s16. The numbers are
instructions retired by the real library under QEMU (`-icount shift=0`; Cortex-M3, M4 and M55; gcc 12.2, -O3),
not cycles. They are in `evidence_table.py`, which `scripts/measure_evidence.py` makes.
"""

from __future__ import annotations

from typing import NamedTuple

from onnxlint_cmsis.cmsis_nn.conditions import Condition, Var, all_of, at_least, at_most, equal
from onnxlint_cmsis.cmsis_nn.expressions import Term
from onnxlint_cmsis.cmsis_nn.names import CH_MULT, FILTER_H, FILTER_W, IN_C, OUT_C, OUT_W, PAD_W, STRIDE_W
from onnxlint_cmsis.cmsis_nn.releases import older
from onnxlint_cmsis.types import KernelCall, Level, Target

COMPILER = "gcc"
"""Compiler of the measured library; nothing is said of another."""

ENOUGH = 10
"""Fewer pairs than this prove nothing."""


class Evidence(NamedTuple):
    """What was measured for one check and entry point on one release and instruction set."""

    code: str
    """Code of the check."""
    entry: str
    """Entry point measured, `convolve_s8`."""
    release: str
    """CMSIS-NN release."""
    isa: str
    """Instruction set."""
    inside: bool
    """Pairs inside the check's region, or outside it."""
    pairs: int
    """Pairs measured."""
    faster: int
    """Pairs with fewer instructions after."""
    median: float
    """Median change in percent; negative is fewer instructions."""
    worst: float
    """Largest change in percent."""


def _blocks(channels: str) -> Condition:
    """Filter rows take as many 16-byte MVE vectors after as before."""
    return equal((FILTER_W * IN_C + 15) // 16, (FILTER_W * Var(channels) + 15) // 16)


def _between(low: int, value: Term, high: int) -> Condition:
    return all_of(at_least(value, low), at_most(value, high))


REGIONS: dict[str, Condition] = {
    # The strip costs a padded column each time, so the output has to be wide; the bounds are those of the pairs.
    "CNN103": all_of(
        _blocks("want.input_dims.c"),
        at_least(OUT_W, 10 * PAD_W),
        _between(3, IN_C, 39),
        _between(2, OUT_C, 36),
        _between(11, OUT_W, 62),
        _between(3, FILTER_W, 7),
        at_most(STRIDE_W, 2),
    ),
    # The tile repeats for every pixel and input channel, so only the multiplier and the filter are bounded.
    "CNN113": all_of(_between(2, CH_MULT, 7), at_most(FILTER_H, 10), at_most(FILTER_W, 10)),
}
"""Where a check's gain is claimed, over the call before and `want.*` after; found by looking at the pairs."""


def pair_values(before: KernelCall, after: KernelCall) -> dict[str, int | None]:
    """Variables of a pair: those before under their own names, those after as `want.*`."""
    return before.variables() | {f"want.{name}": size for name, size in after.variables().items()}


def judge(code: str, target: Target, before: KernelCall, after: KernelCall) -> tuple[Level, str]:
    """Level and sentence: a warning only where every measured pair of the same kind got faster."""
    row = _row(code, target, before, after)
    if row is None:
        return Level.NOTE, "The cost of this change has not been measured"
    on = "" if row.release == target.release else f", measured on CMSIS-NN {row.release}"
    if row.inside and row.faster == row.pairs >= ENOUGH:
        return Level.WARNING, (
            f"This layer alone got faster in all {row.pairs} measured pairs of this kind "
            f"(median {row.median:+.0f} % instructions{on})"
        )
    return Level.NOTE, (
        f"Nothing is claimed: of {row.pairs} measured pairs outside the shapes that always gain, {row.faster} gained "
        f"(median {row.median:+.0f} %, worst {row.worst:+.0f} % instructions{on})"
    )


def _row(code: str, target: Target, before: KernelCall, after: KernelCall) -> Evidence | None:
    if target.compiler != COMPILER or code not in REGIONS:
        return None
    from onnxlint_cmsis.checks.evidence_table import EVIDENCE

    inside = REGIONS[code].evaluate(pair_values(before, after)) is True
    isa = target.isa.value
    wanted = [(code, before.entry, release, isa, inside) for release in older(target.release)]
    return next((row for one in wanted for row in EVIDENCE if row[:5] == one), None)
