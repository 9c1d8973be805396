"""CMSIS-NN releases, CPUs and compilers, and the target a user's words name."""

from __future__ import annotations

from onnxlint_cmsis.types import Isa, Target

RELEASES = ("cmsis5-5.8.0", "cmsis5-5.9.0", "4.0.0", "4.1.0", "5.0.0", "6.0.0", "7.0.0", "main")
"""Oldest first. `main` is commit 99f736a6 of ARM-software/CMSIS-NN."""

DEFAULT_RELEASE = "7.0.0"

COMPILERS = ("gcc", "armclang")
"""`armclang` is `__ARMCC_VERSION >= 6010050`; every other compiler takes CMSIS-NN's branch for the rest."""

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


def normalise_release(text: str) -> str:
    """`v7.0.0` and `7.0.0` name one release, `5.9.0` and `cmsis5-5.9.0` another.

    Raises:
        ValueError: the release is not one of RELEASES.

    """
    release = text.strip().lower()
    if release.startswith("v") and release[1:2].isdigit():
        release = release[1:]
    if f"cmsis5-{release}" in RELEASES:
        release = f"cmsis5-{release}"
    if release not in RELEASES:
        raise ValueError(f"CMSIS-NN release '{text}' is not known; allowed: {', '.join(RELEASES)}")
    return release


def parse_target(text: str, release: str = DEFAULT_RELEASE, compiler: str = "gcc") -> Target:
    """The target named by a CPU (`cortex-m55`, `m4`, `cortex-m33+nodsp`), a release and a compiler.

    `+nomve` steps an MVE CPU down to dsp. `+nodsp` steps a dsp CPU down to scalar; with MVE on it changes nothing,
    since every kernel tests ARM_MATH_MVEI first (7.0.0: Include/arm_nn_math_types.h:46-56).

    Raises:
        ValueError: naming what was found and what is allowed.

    """
    wanted = text.strip().lower()
    name, suffixes = _split(wanted)
    cpu = _cpu(name)
    if cpu is None:
        raise ValueError(f"CPU '{text}' is not known; allowed: {', '.join(CPUS)}, each with {' or '.join(_SUFFIXES)}")
    if compiler not in COMPILERS:
        raise ValueError(f"compiler '{compiler}' is not known; allowed: {', '.join(COMPILERS)}")
    isa = _step_down(cpu, suffixes, text)
    return Target(cpu + "".join(suffixes), isa, normalise_release(release), compiler)


def parse_isa(isa: str, release: str = DEFAULT_RELEASE, compiler: str = "gcc") -> Target:
    """A target named by its ISA class alone, for records that carry no CPU.

    Raises:
        ValueError: naming what was found and what is allowed.

    """
    if isa not in [item.value for item in Isa]:
        raise ValueError(f"isa '{isa}' is not known; allowed: {', '.join(item.value for item in Isa)}")
    if compiler not in COMPILERS:
        raise ValueError(f"compiler '{compiler}' is not known; allowed: {', '.join(COMPILERS)}")
    return Target(isa, Isa(isa), normalise_release(release), compiler)


def _split(text: str) -> tuple[str, list[str]]:
    """The CPU's name and its suffixes in one order; the plus of M0+ belongs to the name."""
    found = [suffix for suffix in _SUFFIXES if suffix in text]
    for suffix in found:
        text = text.replace(suffix, "", 1)
    return text, found


def _cpu(name: str) -> str | None:
    bare = name.removeprefix("cortex-").removeprefix("cortex").replace("plus", "+")
    full = f"cortex-{bare}"
    return full if full in CPUS else None


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
