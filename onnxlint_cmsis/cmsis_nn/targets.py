"""The targets that people name: CPU, instruction set, release and compiler."""

from __future__ import annotations

import re

from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE, normalise_release
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.ground.words import did_you_mean

COMPILERS = ("gcc", "clang", "armclang")
"""`armclang` is `__ARMCC_VERSION >= 6010050`; every other compiler takes CMSIS-NN's branch for the rest."""
WRITTEN = rf"^({'|'.join(COMPILERS)})(@\d+(\.\d+)*)?$"
"""Pattern of a compiler as users write it: `gcc`, `gcc@12.2`."""

CPUS = {
    "cortex-m0": Isa.SCALAR,
    "cortex-m0+": Isa.SCALAR,
    "cortex-m3": Isa.SCALAR,
    "cortex-m4": Isa.DSP,
    "cortex-m7": Isa.DSP,
    "cortex-m23": Isa.SCALAR,
    "cortex-m33": Isa.DSP,
    "cortex-m35p": Isa.DSP,
    "cortex-m52": Isa.MVE,
    "cortex-m55": Isa.MVE,
    "cortex-m85": Isa.MVE,
}
"""ISA class each CPU has with every extension CMSIS-NN looks for. DSP on M33 and M35P and MVE on M52, M55 and M85 are
options of the hardware: the suffixes say that a chip has gone without."""

_SUFFIXES = ("+nodsp", "+nomve")


def split_compiler(text: str) -> tuple[str, str]:
    """Name and version of a compiler as users write it: `("gcc", "12.2")` of `gcc@12.2`.

    Raises:
        ValueError: naming what was found and what is allowed.

    """
    if re.match(WRITTEN, text):
        name, _, version = text.partition("@")
        return name, version
    name, separator, version = text.partition("@")
    if separator and name in COMPILERS:
        raise ValueError(f"compiler '{text}': '{version}' is no version; allowed: numbers with points, as {name}@12.2")
    raise ValueError(f"compiler '{text}' is not known{did_you_mean(name, COMPILERS)}")


def parse_target(text: str, release: str = DEFAULT_RELEASE, compiler: str = "gcc") -> Target:
    """The target named by a CPU (`cortex-m55`, `m4`, `cortex-m33+nodsp`), a release and a compiler (`gcc@12.2`).

    `+nomve` steps an MVE CPU down to dsp. `+nodsp` steps a dsp CPU down to scalar; with MVE on it changes nothing,
    since every kernel tests ARM_MATH_MVEI first (7.0.0: Include/arm_nn_math_types.h:46-56).

    Raises:
        ValueError: naming what was found and what is allowed.

    """
    name = text.strip().lower()
    suffixes = [suffix for suffix in _SUFFIXES if suffix in name]  # the plus of M0+ belongs to the name
    for suffix in suffixes:
        name = name.replace(suffix, "", 1)
    cpu = f"cortex-{name.removeprefix('cortex-').removeprefix('cortex').replace('plus', '+')}"
    if cpu not in CPUS:
        suggestion = did_you_mean(name, CPUS)
        suggestion += "" if suggestion.endswith("?") else f", each with {' or '.join(_SUFFIXES)}"
        raise ValueError(f"CPU '{text}' is not known{suggestion}")
    built_with = split_compiler(compiler)
    isa = _step_down(cpu, suffixes, text)
    return Target(cpu + "".join(suffixes), isa, normalise_release(release), *built_with)


def parse_isa(isa: str, release: str = DEFAULT_RELEASE, compiler: str = "gcc") -> Target:
    """A target named by its ISA class alone, for records that carry no CPU.

    Raises:
        ValueError: naming what was found and what is allowed.

    """
    if isa not in [item.value for item in Isa]:
        raise ValueError(f"isa '{isa}' is not known; allowed: {', '.join(item.value for item in Isa)}")
    built_with = split_compiler(compiler)
    return Target(isa, Isa(isa), normalise_release(release), *built_with)


def _step_down(cpu: str, suffixes: list[str], text: str) -> Isa:
    isa = CPUS[cpu]
    if "+nomve" in suffixes:
        if isa is not Isa.MVE:
            raise ValueError(f"'{text}': {cpu} has no MVE to leave out; +nomve is for {_having(Isa.MVE)}")
        isa = Isa.DSP
    if "+nodsp" in suffixes:
        if isa is Isa.SCALAR:
            raise ValueError(f"'{text}': {cpu} has no DSP to leave out; +nodsp is for {_having(Isa.DSP)}")
        isa = Isa.SCALAR if isa is Isa.DSP else isa
    return isa


def _having(isa: Isa) -> str:
    return ", ".join(cpu for cpu, own in CPUS.items() if own is isa)
