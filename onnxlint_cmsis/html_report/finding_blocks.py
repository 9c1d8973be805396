"""Findings as the page tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.findings import MEASURED, targets_text
from onnxlint_cmsis.html_report.page_records import Fact, FindingBlock
from onnxlint_cmsis.reporters.called import in_short
from onnxlint_cmsis.reporters.full import what_to_do
from onnxlint_cmsis.results.grouped_findings import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from onnxlint_cmsis.findings import Finding

PROPERTIES = ("option", "runtime", "sizes", "why", "known")
"""Properties that are sentences for people."""


def all_findings(findings: Sequence[Finding], names: Mapping[str, str]) -> tuple[FindingBlock, ...]:
    """Findings of equal cause as one, the worst first."""
    return finding_blocks(sorted(grouped(findings), key=lambda finding: -finding.level), names)


def finding_blocks(findings: Iterable[Finding], names: Mapping[str, str]) -> tuple[FindingBlock, ...]:
    """A block for each finding, names in their short forms."""
    return tuple(
        FindingBlock(
            finding.code,
            finding.name,
            finding.level.name.lower(),
            in_short(finding.message, names),
            in_short(what_to_do(finding), names),
            tuple(Fact(label, in_short(text, names)) for label, text in _details(finding)),
        )
        for finding in findings
    )


def _details(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.location.node:
        yield "layer", finding.location.node
    if finding.targets:
        yield "targets", targets_text(finding.targets)
    if finding.taken or finding.wanted:
        yield "kernel", " → ".join(kernel for kernel in (finding.taken, finding.wanted) if kernel)
    for source in finding.sources:
        yield "source", str(source)
    for label in PROPERTIES:
        if label in finding.properties:
            yield label, str(finding.properties[label])
    for name, pairs in finding.properties.items():
        if name.startswith(MEASURED):
            yield "measured", f"{name.removeprefix(MEASURED)}: {pairs}"
