"""What `--fix` does about errors and wrong results, and at which price: told with the finding that it repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.class_facts import ClassFact, brief_price, price_text, saved_facts
from onnxlint_cmsis.checks.subjects import way_out
from onnxlint_cmsis.ground.findings import Finding


def priced(findings: Iterable[Finding], repairs: Iterable[ClassFact]) -> Iterator[Finding]:
    """The findings on layers; those that a class's new size repairs say so."""
    by_hazard = {hazard: fact for fact in repairs for hazard in fact.repaired}
    for finding in findings:
        fact = by_hazard.get((str(finding.properties.get("hazard", "")), finding.location.node))
        yield finding if fact is None else _priced(finding, fact)


def _priced(finding: Finding, fact: ClassFact) -> Finding:
    repair = f"--fix repairs it with {fact.want} channels for {fact.group.size}"
    properties = {**finding.properties, **{f"repair_{name}": value for name, value in saved_facts(fact).items()}}
    return replace(
        finding,
        remedy=f"{finding.remedy} {repair}: {price_text(fact)}.".strip(),
        brief_remedy=f"{_beside(finding, fact)} {repair}: {brief_price(fact)}.".strip(),
        properties={**properties, "fixable": True},
    )


def _beside(finding: Finding, fact: ClassFact) -> str:
    """The remedy without the sentence on the channel count that the fix gives as well."""
    change = finding.resize
    if change is None or (change.have, change.want) != (fact.group.size, fact.want):
        return finding.remedy
    return finding.remedy.replace(way_out(change, finding.wanted), "").strip()
