"""What `--fix` does about errors and wrong results, and at which price: told with the finding that it repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.class_fact import price_text, saved_facts

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.class_fact import ClassFact
    from onnxlint_cmsis.findings import Finding


def priced(findings: Iterable[Finding], repairs: Iterable[ClassFact]) -> Iterator[Finding]:
    """The findings on layers; those that a class's new size repairs say so."""
    by_hazard = {place: fact for fact in repairs for place in fact.repaired}
    for finding in findings:
        fact = by_hazard.get((str(finding.properties.get("hazard", "")), finding.location.node))
        yield finding if fact is None else _priced(finding, fact)


def _priced(finding: Finding, fact: ClassFact) -> Finding:
    text = f"--fix repairs it with {fact.want} channels for {fact.group.size}: {price_text(fact)}."
    properties = {**finding.properties, **{f"repair_{name}": value for name, value in saved_facts(fact).items()}}
    remedy = f"{finding.remedy} {text}".strip()
    return replace(finding, remedy=remedy, properties={**properties, "fixable": True})
