"""The measured instructions of one turn of each loop, read when first asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from onnxlint_cmsis.cmsis_nn.compiler_defects import SCALAR_SOFTMAX
from onnxlint_cmsis.cmsis_nn.compilers import (
    CODE_OF_M55,
    GCC_12,
    LATER_RELEASE,
    OTHER_CODE,
    SAME_CODE,
    MeasuredCompiler,
    measured_compilers,
)
from onnxlint_cmsis.cmsis_nn.releases import measured_on
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Target

COMPILER = GCC_12.name
"""Compiler of what was measured once: float functions, reference code, code of runtimes."""

CPUS = {Isa.SCALAR: "cortex-m3", Isa.DSP: "cortex-m4", Isa.MVE: "cortex-m55"}
"""CPU that each instruction set was compiled for and measured on; files are named by the instruction set."""
INTEGER_CPUS = {"cortex-m0": "cortex-m0", "cortex-m0+": "cortex-m0", "cortex-m23": "cortex-m23"}
"""CPUs whose functions for integers were compiled and measured by themselves, or that run the code of one that was.
They lack much of Cortex-M3's instruction set: its numbers are a half to a fifth of theirs."""
WITHOUT_DSP = ("cortex-m4+nodsp", "cortex-m7+nodsp")
"""CPUs that nobody makes and gcc has no option for: calls take up to 27 % more or less than on Cortex-M3."""
NO_MVE = "+nomve"
"""End of a CPU whose code loops with instructions of Armv8.1-M: calls take up to 19 % less than on Cortex-M4."""
FLOAT_CPUS = {
    **INTEGER_CPUS,
    "cortex-m7": "cortex-m7",
    "cortex-m33": "cortex-m33",
    "cortex-m35p": "cortex-m33",
}
"""The same of functions for f32 and f16: on Cortex-M7 a convolution of f32 takes up to 16 % more instructions than on
Cortex-M4. On scalar CPUs software computes; gcc makes the same code for Cortex-M0 and M0+."""
ALIGNED = ("cortex-m0", "cortex-m23")
"""Those of FLOAT_CPUS that load words at multiples of 4 alone (Armv6-M and Armv8-M Baseline)."""

FUSED = "-fused"
"""End of what was measured with -ffp-contract=fast."""

FOLDER = Path(__file__).parent / "instructions"
"""One file `<release>-<build>.json` for each measured build: an instruction set, or a CPU measured by itself."""


@cache
def table_of(release: str, build: str) -> dict[str, float] | None:
    """Instructions by piece for integers; None where neither the build nor the one its release names was measured.

    A file that is `like` another release has the pieces of that release too, but for those that it tells by itself.
    `build` ends in the compiler's ending, where that is not the one of most measurements.
    """
    path = FOLDER / f"{measured_on(release)}-{build}.json"
    if not path.exists():
        return None
    read = json.loads(path.read_text(encoding="utf-8"))
    table = dict(table_of(read["like"], build) or {}) if "like" in read else {}
    for part in (read, read.get("later", {})):
        table |= part.get("instructions", {})
    return table


@cache
def _floats(release: str, build: str) -> dict[str, dict[str, float]]:
    """Functions for f32 and f16 of an instruction set or a CPU: `instructions`, and errors of shapes held apart."""
    path = FOLDER / f"{measured_on(release)}-{build}.json"
    if not path.exists():
        return {}
    read: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8")).get("float", {})
    return read


class FloatBuild(NamedTuple):
    """How a target's functions for f32 and f16 are compiled."""

    isa: Isa
    """What computes: software, code for a floating-point unit, or MVE."""
    cpu: str
    """CPU that it was measured on."""
    name: str
    """End of the name of the file with its costs."""
    aligned: bool
    """Whether the CPU loads words at multiples of 4 alone: memcpy then goes byte by byte where a block is elsewhere."""


class IntegerBuild(NamedTuple):
    """What a target's functions for integers were compiled for and measured on."""

    cpu: str
    """The CPU."""
    name: str
    """Build in the name of its file."""


def integer_build(target: Target) -> IntegerBuild:
    """The build of a target's functions for integers; that of a CPU without one has its name, and no file.

    Calls take what they take on Cortex-M3 to 1 % (95 of 100) on Cortex-M33 and M35P without DSP, and what they take on
    Cortex-M4 to 4 % on Cortex-M7, M33 and M35P. Cortex-M52 and M85 run the code of M55: gcc 12.2 knows neither.
    """
    own = INTEGER_CPUS.get(target.cpu)
    if own is None and (NO_MVE in target.cpu or target.cpu in WITHOUT_DSP):
        own = target.cpu
    return IntegerBuild(own, own) if own else IntegerBuild(CPUS[target.isa], target.isa.value)


def float_build(target: Target) -> FloatBuild:
    """The build of a target's functions for f32 and f16. Without DSP a floating-point unit runs the same code.

    Without MVE code loops in another way, and was not measured.
    """
    if NO_MVE in target.cpu:
        return FloatBuild(target.isa, target.cpu, target.cpu, aligned=False)
    cpu = target.cpu.removesuffix("+nodsp")
    isa = Isa.DSP if target.isa is Isa.SCALAR and cpu != target.cpu else target.isa
    measured = FLOAT_CPUS.get(cpu, CPUS[isa])
    fused = FUSED if target.fused and isa is not Isa.SCALAR else ""
    name = f"{measured if measured in FLOAT_CPUS else isa.value}{fused}"
    return FloatBuild(isa, measured, name, measured in ALIGNED)


def is_measured(target: Target) -> bool:
    """Tell whether the target's CPU was measured, or one that runs its code to a few percent."""
    return integer_build(target).cpu in (*CPUS.values(), *INTEGER_CPUS)


def table_for(
    target: Target, kernel: str, compiler: MeasuredCompiler | None = None, *, floats: bool = False
) -> dict[str, float] | None:
    """Instructions by piece for a kernel of a build by one measured compiler; None where it was not measured so.

    The later compilers speak for the CPUs that they were measured on, and for those of CODE_OF_M55.
    Without `compiler` it is the first that speaks for the target's.
    """
    compiler = compiler or next(iter(measured_compilers(target)), None)
    if compiler is None:
        return None
    if floats:
        return _floats(target.release, float_build(target).name).get("instructions") if compiler is GCC_12 else None
    build = integer_build(target).name
    if compiler is GCC_12:
        # A version of gcc 12 that is known to have MVE code has none where the measured one left the scalar code.
        scalar_when_measured = kernel in SCALAR_SOFTMAX.functions and SCALAR_SOFTMAX.changes(target)
        known = not (scalar_when_measured and SCALAR_SOFTMAX.hits(target) is False)
        return table_of(target.release, build) if known else None
    if not speaks_for(target, compiler) or (target.release != LATER_RELEASE and kernel in OTHER_CODE):
        return None
    return table_of(LATER_RELEASE, f"{build}{compiler.ending}")


def speaks_for(target: Target, compiler: MeasuredCompiler) -> bool:
    """Tell whether a compiler was measured with the code of a target's CPU and release."""
    if compiler is GCC_12:
        return True
    measured = measured_on(target.release) in (LATER_RELEASE, *SAME_CODE)
    version = target.compiler_version.partition(".")[0]
    same = compiler.name == GCC_12.name and version in CODE_OF_M55.get(target.cpu, ())
    return measured and (same or (target.cpu in (CPUS[target.isa], target.isa.value) and target.isa is not Isa.SCALAR))


def measured_build(target: Target, *, floats: bool = False) -> str:
    """What a target's instructions were measured on: a CPU, and the release where it is another than the target's.

    With `floats`, those of functions for f32 and f16.
    """
    release, cpu = measured_on(target.release), (float_build(target) if floats else integer_build(target)).cpu
    return cpu if release == target.release else f"{cpu} with CMSIS-NN {release}"


def measured_with(target: Target, *, floats: bool = False) -> str:
    """The same with the compilers that a target may mean: `cortex-m55, gcc 12.2 and 13.2`."""
    rows = [row for row in measured_compilers(target) if row is GCC_12 or not (floats or not speaks_for(target, row))]
    build, versions = measured_build(target, floats=floats), " and ".join(row.version for row in rows)
    return f"{build}, {target.compiler} {versions}" if versions else build
