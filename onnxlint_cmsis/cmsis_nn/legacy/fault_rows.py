"""Rows of unchecked faults of the functions for q7 and q15: one for each body with the fault."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.conditions import Condition
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.legacy.builds import LegacyBuild, Lines, definition, legacy_builds
from onnxlint_cmsis.cmsis_nn.releases import V5_6, V5_7, V5_8
from onnxlint_cmsis.cmsis_nn.rows import Origin
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa

NO_CONDITION: Lines = (0, 0, 0, 0)


class FaultyFunction(NamedTuple):
    """A function that has a fault."""

    entry: str
    """Entry point of the choice that calls it."""
    function: str
    """C function; without `arm_` it is an entry point too."""
    path: str
    """Its file under Source/."""
    lines: Lines
    """Faulty line in the code for DSP."""

    @property
    def name(self) -> str:
        """The function in kebab case."""
        return self.function.removeprefix("arm_").lower().replace("_", "-")

    @property
    def entries(self) -> tuple[str, ...]:
        """Entry points that reach it."""
        return tuple(dict.fromkeys((self.entry, self.function.removeprefix("arm_"))))


class UncheckedFault(NamedTuple):
    """A fault that functions do not check for."""

    name: str
    """End of the rows' names, in front of the build."""
    kind: str
    """Kind of the hazard."""
    when: Condition
    """Shapes with the fault."""
    brief: str
    """Predicate of a sentence about the function."""
    what: str
    """What happens and why."""
    way_round: str
    """What helps."""


def in_dsp(fault: UncheckedFault, function: FaultyFunction) -> tuple[Hazard, ...]:
    """The fault in the code for DSP, in every release."""
    builds = legacy_builds(function.path, function.function, function.lines, NO_CONDITION)
    return tuple(fault_row(fault, function, build) for build in builds if build.dsp)


def in_old_plain(fault: UncheckedFault, function: FaultyFunction) -> Hazard:
    """The fault in the scalar code of 5.6.0 and 5.7.0."""
    lines = {V5_6: function.lines[0], V5_7: function.lines[1]}
    origin = Origin(f"Source/{function.path}", function.function, lines, (Isa.SCALAR,), until=V5_8)
    return fault_row(fault, function, LegacyBuild("plain-5-7", origin))


def in_gcc(fault: UncheckedFault, function: FaultyFunction) -> Hazard:
    """The fault in what gcc makes of the code for DSP of 5.6.0."""
    lines, isas = {V5_6: function.lines[0]}, (Isa.DSP, Isa.MVE)
    origin = Origin(f"Source/{function.path}", function.function, lines, isas, ("gcc",), V5_7)
    return fault_row(fault, function, LegacyBuild("dsp-5-6", origin))


def everywhere(fault: UncheckedFault, function: FaultyFunction) -> Hazard:
    """The fault in every build, cited by the definition of the function."""
    return fault_row(fault, function, LegacyBuild("", definition(function.path, function.function, function.lines)))


def fault_row(fault: UncheckedFault, function: FaultyFunction, build: LegacyBuild) -> Hazard:
    """The fault in one build, as a row that is named for both."""
    return Hazard(
        id="-".join(filter(None, (function.name, fault.name, build.name))),
        kind=fault.kind,
        entries=function.entries,
        origin=build.origin,
        when=fault.when,
        brief=fault.brief,
        what=fault.what,
        way_round=fault.way_round,
    )
