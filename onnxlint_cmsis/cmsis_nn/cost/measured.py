"""The fitted instructions of one turn of each loop, read when first asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from onnxlint_cmsis.cmsis_nn.compiler_defects import SCALAR_SOFTMAX
from onnxlint_cmsis.cmsis_nn.releases import measured_on
from onnxlint_cmsis.types import Isa, Target

COMPILER = "gcc"
"""Compiler of the measured library, in version 12.2; nothing is said of another."""

CPUS = {Isa.SCALAR: "cortex-m3", Isa.DSP: "cortex-m4", Isa.MVE: "cortex-m55"}
"""CPU that each instruction set was compiled for and measured on. Cortex-M0, M0+ and M23 are scalar too, but lack much
of Cortex-M3's instruction set; nothing was measured on them."""

FOLDER = Path(__file__).parent / "instructions"
"""One file `<release>-<isa>.json` for each measured build."""


@cache
def table_of(release: str, isa: Isa) -> dict[str, float] | None:
    """Instructions by piece; None where neither the build nor the one that its release names was measured."""
    path = FOLDER / f"{measured_on(release)}-{isa.value}.json"
    if not path.exists():
        return None
    read = json.loads(path.read_text(encoding="utf-8"))
    later: dict[str, float] = read.get("later", {}).get("instructions", {})
    return {**read["instructions"], **later}


def table_for(target: Target, kernel: str) -> dict[str, float] | None:
    """Instructions by piece for a kernel of a build; None also where another compiler makes other code of it.

    Without a version gcc is taken for the measured one. A version that is known to have MVE code where the measured
    one left the scalar code has no numbers.
    """
    scalar_when_measured = kernel in SCALAR_SOFTMAX.functions and SCALAR_SOFTMAX.changes(target)
    if target.compiler != COMPILER or (scalar_when_measured and SCALAR_SOFTMAX.hits(target) is False):
        return None
    return table_of(target.release, target.isa)


def measured_build(target: Target) -> str:
    """What a target's instructions were measured on: a CPU, and the release where it is another than the target's."""
    release = measured_on(target.release)
    return CPUS[target.isa] if release == target.release else f"{CPUS[target.isa]} with CMSIS-NN {release}"
