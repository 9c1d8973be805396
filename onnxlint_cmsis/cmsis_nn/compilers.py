"""The compilers whose code was measured, and the versions that each stands for."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target


class MeasuredCompiler(NamedTuple):
    """One compiler, with -O3."""

    name: str
    """As users write it."""
    version: str
    """Version that was measured."""
    majors: tuple[int, ...]
    """First numbers of the versions that take its instructions."""
    ending: str
    """End of the names of its files in `instructions/`."""

    @property
    def label(self) -> str:
        """Name and version for messages: `gcc 12.2`."""
        return f"{self.name} {self.version}"


GCC_12 = MeasuredCompiler("gcc", "12.2", (12,), "")
"""The compiler of most measurements: it has every release, kernel and CPU that any has."""
MEASURED = (
    GCC_12,
    MeasuredCompiler("gcc", "13.2", (13, 14), "-gcc13.2"),
    MeasuredCompiler("clang", "19.1", (19,), "-clang19.1"),
)
"""gcc 14 takes the numbers of 13.2 and was not measured."""
LATER_RELEASE = "7.0.0"
"""Release that the later two were measured with, on Cortex-M4 and M55."""
SAME_CODE = ("main",)
"""Releases with the same machine code of kernels for integers, from both: all of Source was compiled twice and the
disassembly compared. Wrappers differ by some instructions."""
OTHER_CODE = ("arm_transpose_conv_s8", "arm_lstm_unidirectional_s8", "arm_lstm_unidirectional_s16")
"""Kernels whose code differs between these releases."""

CODE_OF_M55 = {"cortex-m52": ("", "13"), "cortex-m85": ("", "13", "14")}
"""CPUs that run Cortex-M55's code by gcc 13.2, and first numbers of the versions for which they do; empty for none.
gcc 13.2 makes the same code for M85, in all 113 files for integers of 7.0.0 (-O3), and knows no M52."""


def measured_compilers(target: Target) -> tuple[MeasuredCompiler, ...]:
    """Return the rows that speak for a target's compiler, the most complete first; all of a name without a version."""
    major = target.compiler_version.partition(".")[0]
    return tuple(row for row in MEASURED if row.name == target.compiler and (not major or int(major) in row.majors))
