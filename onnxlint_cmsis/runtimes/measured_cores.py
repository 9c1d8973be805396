"""The cores that code of runtimes was compiled for and measured on, and the CPUs that run the code of each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from onnxlint_cmsis.cmsis_nn.library import COMPILER
from onnxlint_cmsis.ground.types import Target

CORES = {
    "cortex-m0": "cortex-m0",
    "cortex-m0+": "cortex-m0",
    "cortex-m3": "scalar",
    "cortex-m4": "dsp",
    "cortex-m7": "cortex-m7",
    "cortex-m23": "cortex-m23",
    "cortex-m33": "cortex-m33",
    "cortex-m35p": "cortex-m33",
    **dict.fromkeys(("cortex-m52", "cortex-m55", "cortex-m85"), "mve"),
}
"""CPU to the core whose code it runs. No other has its numbers: without its units for floats, DSP or MVE a core runs
other code."""


def core_of(target: Target, *, floating: bool) -> str:
    """The measured core whose code a target runs; empty for a compiler or a CPU that was not measured.

    An instruction set alone has no unit for floats.
    """
    if target.compiler != COMPILER:
        return ""
    return CORES.get(target.cpu, "" if floating else target.cpu)


@cache
def instruction_table(path: Path) -> dict[str, Any]:
    """A file of measured instructions: `kernels` has kinds of code, each with cores.

    A core that names another one there has its numbers here.
    """
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for cores in table["kernels"].values():
        cores.update({core: cores[other] for core, other in cores.items() if isinstance(other, str)})
    return table
