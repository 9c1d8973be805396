"""The price of `--fix` for the whole model, with the findings for which it rewrites layers or gives them channels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.price_text import whole_prices
from onnxlint_cmsis.cli.fix_promises import fix_request, repaired_by_fix
from onnxlint_cmsis.config.settings import Settings
from onnxlint_cmsis.fixers.differences import price_changes
from onnxlint_cmsis.fixers.rehearsal import unproven
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.findings import PRICE, Finding

Pair = tuple["Finding", "Finding"]
"""A finding as its rule makes it, and with what other channel counts cost, or that a fix answers it."""


def with_prices(findings: Iterable[Pair], model: ModelAnalysis, settings: Settings) -> list[Finding]:
    """Findings, each with what the whole model takes once `--fix` did all that it does; nothing is run or proven.

    Where a fix rewrites a layer for less than other channel counts cost, the finding does not name these.
    """
    try:
        fix = unproven(model, fix_request(settings, model.path, model))
        changes = [*price_changes(fix.start, fix.end)]
    except (NotAppliedError, UnreadableError):
        return [promised for _, promised in findings]
    words = whole_prices(changes)
    rewritten = {(hazard, layer.label) for layer in fix.rewrites for hazard in layer.hazards}
    arenas = any(change.before.arena != change.after.arena for change in changes)

    def told(finding: Finding, promised: Finding) -> Finding:
        sized = any(name.startswith("repair_") for name in promised.properties)
        if not words or not repaired_by_fix(promised) or (sized and not fix.rewrites and not arenas):
            return promised
        if sized and (finding.properties["hazard"], finding.location.node) in rewritten:
            promised = replace(finding, properties={**finding.properties, "fixable": True})
        return replace(promised, properties={**promised.properties, PRICE: words})

    return [told(*pair) for pair in findings]
