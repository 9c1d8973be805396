"""The functions for q7 and q15 of CMSIS 5: the code of each build, and its place in the source.

Each function has two bodies. Up to 5.8.0 `ARM_MATH_DSP` alone chooses between them, so that a CPU with MVE runs the
code for DSP; in 5.9.0 that code is for "DSP and not MVEI", so that a CPU with MVE runs the scalar code.
"""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.arguments import FILTER, IN, OUT, PAD, STRIDE
from onnxlint_cmsis.cmsis_nn.conditions import Condition, all_of, equal
from onnxlint_cmsis.cmsis_nn.releases import V5_6, V5_7, V5_8, V5_9
from onnxlint_cmsis.cmsis_nn.rows import Origin
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Target

LEFT = "4.0.0"
"""First release without these functions."""


def runs_dsp_body(target: Target) -> bool:
    """Tell if a build runs the code for DSP. With MVE it does so before 5.9.0, whose guard is "DSP and not MVEI"."""
    return target.isa is Isa.DSP or (target.isa is Isa.MVE and target.release != V5_9)


Lines = tuple[int, int, int, int]
"""A line in 5.6.0, 5.7.0, 5.8.0 and 5.9.0."""

SQUARE: Condition = all_of(
    equal(IN.w, IN.h),
    equal(OUT.w, OUT.h),
    equal(FILTER.w, FILTER.h),
    equal(PAD.w, PAD.h),
    equal(STRIDE.w, STRIDE.h),
)
"""Shapes that functions with one argument for both axes can express."""


class LegacyBuild(NamedTuple):
    """A body of a function, in the releases with the same guard."""

    name: str
    """`dsp`, `plain`, `dsp-5-8` or `plain-5-8`, for the names of rows."""
    origin: Origin
    """Place of a line of that body."""

    @property
    def dsp(self) -> bool:
        """Tell whether it is the body for DSP."""
        return self.name.startswith("dsp")


def legacy_builds(path: str, function: str, dsp: Lines, plain: Lines) -> tuple[LegacyBuild, ...]:
    """The bodies of a function, oldest releases first. `path`: its file under Source/."""
    old = (V5_6, V5_7, V5_8)
    file = f"Source/{path}"
    return (
        LegacyBuild("dsp-5-8", _origin(file, function, dict(zip(old, dsp, strict=False)), (Isa.DSP, Isa.MVE), V5_9)),
        LegacyBuild("plain-5-8", _origin(file, function, dict(zip(old, plain, strict=False)), (Isa.SCALAR,), V5_9)),
        LegacyBuild("dsp", _origin(file, function, {V5_9: dsp[3]}, (Isa.DSP,), LEFT)),
        LegacyBuild("plain", _origin(file, function, {V5_9: plain[3]}, (Isa.SCALAR, Isa.MVE), LEFT)),
    )


def definition(path: str, function: str, lines: Lines) -> Origin:
    """A function by the line of its definition, for every build."""
    return Origin(f"Source/{path}", function, dict(zip((V5_6, V5_7, V5_8, V5_9), lines, strict=True)), until=LEFT)


def _origin(file: str, function: str, lines: dict[str, int], isas: tuple[Isa, ...], until: str) -> Origin:
    return Origin(file, function, lines, isas, until=until)
