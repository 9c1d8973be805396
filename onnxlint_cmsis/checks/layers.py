"""Runs every check on every layer and target, and makes one finding of those that say the same for several targets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.foreign_operators import foreign_findings
from onnxlint_cmsis.checks.registry import CHECKS
from onnxlint_cmsis.checks.subject import Subject
from onnxlint_cmsis.checks.undecided import Undecided
from onnxlint_cmsis.lower.lowered import Lowered
from onnxlint_cmsis.types import Finding

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis


def check_layers(model: ModelAnalysis, lowered: Lowered) -> list[Finding]:
    """All findings about layers, in file order; what cannot be decided is one finding for the whole model.

    `lowered` has the layers of the model that are to be judged.
    """
    found: list[Finding] = []
    undecided = Undecided(model.graph)
    for layer in lowered.layers:
        for target, taken in model.routes(layer):
            undecided.add(layer.node.label, taken)
            found.extend(_checked(Subject(model, layer, target, taken)))
    for node in lowered.undecided:
        undecided.add_shape(node.label)
    return _merged([*found, *undecided.findings(), *foreign_findings(model.graph, lowered)])


def _checked(subject: Subject) -> Iterator[Finding]:
    for check in CHECKS:
        yield from check.run(subject)


def _merged(found: list[Finding]) -> list[Finding]:
    """Findings that differ in nothing but the target and its sources become one."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in found:
        key = (finding.code, finding.location, finding.level, finding.message, finding.resize, finding.wanted)
        groups.setdefault(key, []).append(finding)
    merged = [_one(group) for group in groups.values()]
    return sorted(merged, key=lambda finding: (finding.location.offset, finding.code))


def _one(group: list[Finding]) -> Finding:
    targets = tuple(dict.fromkeys(label for finding in group for label in finding.targets))
    sources = tuple(dict.fromkeys(source for finding in group for source in finding.sources))
    return replace(group[0], targets=targets, sources=sources)
