"""What all execution checks share: report the hazards of a route, and a channel count that steps around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from onnxlint_cmsis.checks.subject import Subject, freedom_text, with_resize
from onnxlint_cmsis.cmsis_nn.rows import Hazard
from onnxlint_cmsis.types import Finding, Freedom, Level, Resize


class HazardCheck(NamedTuple):
    """One kind of hazard."""

    code: str
    """Code of the rule."""
    name: str
    """Kebab name of the rule."""
    kind: str
    """Kind of the hazard rows it reports."""

    def run(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for each hazard of this kind on one layer and target."""
        for hazard in subject.route.hazards:
            if hazard.kind == self.kind:
                yield _finding(self, subject, hazard)


def _finding(check: HazardCheck, subject: Subject, hazard: Hazard) -> Finding:
    repair = next(repairs(subject), None)
    parts = [f"{subject.route.effective}: {hazard.what} Known: {hazard.evidence}."]
    if repair:
        change, kernel = repair
        parts.append(f"{change.variable} {change.have} -> {change.want} takes {kernel}, of which no hazard is known.")
        parts.append(f"{freedom_text(change)}.")
    elif hazard.way_round:
        parts.append(hazard.way_round)
    finding = subject.finding(check.code, check.name, Level.ERROR, " ".join(parts))
    finding = replace(
        finding, sources=(hazard.origin.source(subject.target.release),), properties={"hazard": hazard.id}
    )
    return with_resize(finding, *repair) if repair else finding


def repairs(subject: Subject) -> Iterator[tuple[Resize, str]]:
    """Channel counts within reach whose route has no hazard, changeable ones first."""
    found = []
    for variable in ("input_dims.c", "ch_mult"):
        for want, route in subject.candidates(variable):
            if route.kernel and not route.undecided and not route.hazards:
                found.append((subject.resize(variable, want), route.effective))
                break
    yield from sorted(found, key=lambda pair: pair[0].freedom is Freedom.LOCKED)
