"""The families of functions of CMSIS-NN, the releases that have each, and the targets that people name."""

from __future__ import annotations

import re

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Target
from onnxlint_cmsis.ground.words import did_you_mean


class Release(NamedTuple):
    """One release of the library."""

    name: str
    """Name that users, rows and files give it."""
    reviewed: str = ""
    """Day on which every row was held against its source, `2026-11-21`; the release is refused where empty."""
    measured_on: str = ""
    """Release whose measured instructions are taken for it; its own where empty."""
    apis: tuple[str, ...] = ("current",)
    """APIs whose rows were reviewed: those of families."""
    said: str = ""
    """How far it was reviewed, as a sentence, where its source was not read whole; empty where it was."""


RELEASE_ROWS = (
    Release("cmsis5-5.6.0", reviewed="2026-11-22", apis=("legacy",)),
    Release("cmsis5-5.7.0", reviewed="2026-11-22", apis=("legacy",)),
    Release("cmsis5-5.8.0", reviewed="2026-11-21", apis=("current", "legacy")),
    Release("cmsis5-5.9.0", reviewed="2026-11-21", apis=("current", "legacy")),
    Release("4.0.0", reviewed="2026-11-21"),
    Release("4.1.0", reviewed="2026-11-21"),
    Release("5.0.0", reviewed="2026-11-21"),
    Release("6.0.0", reviewed="2026-11-21"),
    Release("7.0.0", reviewed="2026-11-21"),
    Release("main", reviewed="2026-11-21", apis=("current", "float")),
    Release(
        "8.0.0",
        reviewed="2026-11-28",
        measured_on="main",
        said="CMSIS-NN 8.0.0 is judged as main (99f736a6): two files of its source and 600,000 answers of 30 size "
        "functions for integers are equal, and the rest of its source was not read.",
    ),
)
"""Oldest first: the one place that orders releases. `main` is commit 99f736a6 of ARM-software/CMSIS-NN."""

RELEASES = tuple(row.name for row in RELEASE_ROWS)
"""Names, oldest first."""

REVIEWED = tuple(row.name for row in RELEASE_ROWS if row.reviewed)
"""Names of those that may be asked about."""

V5_6, V5_7, V5_8, V5_9 = "cmsis5-5.6.0", "cmsis5-5.7.0", "cmsis5-5.8.0", "cmsis5-5.9.0"
"""The releases inside CMSIS 5, whose names are long."""

DEFAULT_RELEASE = "7.0.0"

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


_ROWS = {row.name: row for row in RELEASE_ROWS}
_ORDER = {name: position for position, name in enumerate(RELEASES)}
_VERSION = r"v?[0-9]+\.[0-9]+\.[0-9]+"


def said_of(release: str) -> str:
    """How far a release was reviewed, as a sentence; empty where all of its source was read."""
    return _ROWS[release].said


def normalise_release(text: str) -> str:
    """`v7.0.0` and `7.0.0` name one release, `5.9.0` and `cmsis5-5.9.0` another.

    Raises:
        ValueError: the release is unknown or not reviewed.

    """
    release = text.strip().lower()
    if release.startswith("v") and release[1:2].isdigit():
        release = release[1:]
    if f"cmsis5-{release}" in _ROWS:
        release = f"cmsis5-{release}"
    return reviewed(release)


def reviewed(release: str) -> str:
    """The release, where its rows were reviewed.

    Raises:
        ValueError: they were not, so nothing may be said of it.

    """
    if release in REVIEWED:
        return release
    names = ", ".join(REVIEWED)
    if release in _ROWS or re.fullmatch(_VERSION, release):
        raise ValueError(f"CMSIS-NN release {release} is not reviewed; reviewed are {names}")
    raise ValueError(f"CMSIS-NN release '{release}' is not known{did_you_mean(release, REVIEWED)}")


def holds(since: str, until: str, release: str) -> bool:
    """Whether a release is `since` or later, and older than `until`; an empty `until` is no bound.

    Raises:
        ValueError: the release is not reviewed.

    """
    here = _ORDER[reviewed(release)]
    return _ORDER[since] <= here and (not until or here < _ORDER[until])


def before(release: str) -> str:
    """The release before another."""
    return RELEASES[_ORDER[release] - 1]


def outlives(until: str, release: str) -> bool:
    """Whether a row that ends before `until` (empty: never) still holds in `release` or later."""
    return not until or _ORDER[release] < _ORDER[until]


def later(first: str, second: str) -> str:
    """The later of two releases."""
    return max(first, second, key=_ORDER.__getitem__)


def older(release: str) -> tuple[str, ...]:
    """The release and every older one, newest first."""
    return RELEASES[_ORDER[release] :: -1]


def distance(first: str, second: str) -> int:
    """How many releases lie between two of them."""
    return abs(_ORDER[first] - _ORDER[second])


def measured_on(release: str) -> str:
    """Release whose measured instructions are taken for a release: its own, unless its row names another."""
    return _ROWS[reviewed(release)].measured_on or release


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


# The families of functions, and the releases that have each.


class Family(NamedTuple):
    """Functions that are called in one way."""

    api: str
    """What users call the family, with the setting `api`."""
    types: tuple[str, ...]
    """What a float model may become, the usual one first; an entry point ends in it."""
    release: str
    """Release where none is named."""
    what: str
    """Its functions, for messages."""

    @property
    def releases(self) -> tuple[str, ...]:
        """Reviewed releases that have it, oldest first."""
        return tuple(row.name for row in RELEASE_ROWS if row.reviewed and self.api in row.apis)

    def refuse_without(self, release: str) -> None:
        """Refuse a release without reviewed rows of the family.

        Raises:
            ValueError: the release is not one of those allowed, which the message names.

        """
        if release not in self.releases:
            allowed = ", ".join(self.releases)
            unread = said_of(release) and self.api != "legacy"
            why = f"the {self.what} of CMSIS-NN {release} were not read" if unread else ""
            raise ValueError(f"{why or f'CMSIS-NN {release} has no {self.what}'}; allowed: {allowed}")


INTEGER = Family("current", ("s8", "s16", "s4"), DEFAULT_RELEASE, "wrappers for s8, s16 and s4")
LEGACY = Family("legacy", ("q7", "q15", "q7q15"), V5_9, "functions for q7 and q15")
"""Functions of CMSIS 5 with powers of two as scales; q7q15 has weights of 8 bits and activations of 16."""
FLOAT = Family("float", ("f32", "f16"), "main", "functions for f32 and f16")
"""Functions for floating-point numbers, which came with commit 91f84c80; f16 adds in half precision."""
FAMILIES = (INTEGER, LEGACY, FLOAT)


def family_named(api: str) -> Family:
    """The family of a setting `api`."""
    return next(family for family in FAMILIES if family.api == api)


def family_of(entry: str) -> Family:
    """The family that an entry point, or a function, belongs to."""
    if "_q7" in entry or "_q15" in entry:
        return LEGACY
    return FLOAT if "_f32" in entry or "_f16" in entry else INTEGER
