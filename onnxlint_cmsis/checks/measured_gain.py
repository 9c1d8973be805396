"""Whether another kernel is the better one: measured pairs of shapes decide, never the name of a kernel.

Each pair is one layer before and after its channel count took the kernel that a check wants. A row speaks of one entry
point, and so of one data type: s8, q7 and q15 were measured, and nothing is said of s4 and s16. The numbers are
instructions retired by the real library under QEMU (`-icount shift=0`; Cortex-M3, M4 and M55; gcc 12.2, -O3), not
cycles. They are in `cmsis_nn/measured_pairs.json`, which `lab/measure_evidence.py` makes, and for q7 and q15
`lab/measure_legacy.py`.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import FALSE, Condition, all_of, at_least, at_most
from onnxlint_cmsis.cmsis_nn.library import COMPILER, measured_pairs
from onnxlint_cmsis.cmsis_nn.measured_pairs import Evidence
from onnxlint_cmsis.cmsis_nn.releases import older
from onnxlint_cmsis.cmsis_nn.terms import Term
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Level, Target

ENOUGH = 10
"""Fewer pairs than this prove nothing."""


class Gain(NamedTuple):
    """Where a rule claims that its kernels are faster."""

    rule: str
    """Kebab name of the rule, which its measured pairs have."""
    region: Condition
    """Over the call before and `want.*` after; found by looking at the pairs."""


UNMEASURED = Gain("", FALSE)


def between(low: int, value: Term, high: int) -> Condition:
    """`low <= value <= high`."""
    return all_of(at_least(value, low), at_most(value, high))


def pair_values(before: KernelCall, after: KernelCall) -> dict[str, int | None]:
    """Variables of a pair: those before under their own names, those after as `want.*`."""
    return before.variables() | {f"want.{name}": size for name, size in after.variables().items()}


def judge(gain: Gain, target: Target, before: KernelCall, after: KernelCall) -> tuple[Level, str]:
    """Level and sentence: a warning only where every measured pair of the same kind got faster."""
    row = _row(gain, target, before, after)
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


def _row(gain: Gain, target: Target, before: KernelCall, after: KernelCall) -> Evidence | None:
    if target.compiler != COMPILER or not gain.rule:
        return None
    rows = measured_pairs()
    inside = gain.region.evaluate(pair_values(before, after)) is True
    isa = target.isa.value
    wanted = [(gain.rule, before.entry, release, isa, inside) for release in older(target.release)]
    return next((row for key in wanted for row in rows if row[:5] == key), None)
