"""The price of `--fix` for the whole model, with the findings for which it rewrites layers or gives them channels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from onnxlint_cmsis.analysis.fix_results import FixResult
from onnxlint_cmsis.analysis.price_text import whole_prices
from onnxlint_cmsis.cli.fix_promises import repaired_by_fix
from onnxlint_cmsis.ground.findings import PRICE, Finding

Pair = tuple["Finding", "Finding"]
"""A finding as its rule makes it, and with what other channel counts cost, or that a fix answers it."""


def with_prices(findings: Iterable[Pair], fix: FixResult, *, unsafe: bool) -> Iterator[Finding]:
    """Findings, each with what the whole model takes once `fix` is done; a layer that it leaves is not promised.

    Where a fix rewrites a layer for less than other channel counts cost, the finding does not name these. Repairs that
    a run has to prove are not in `fix`; `unsafe` tells whether findings promise these.
    """
    words = whole_prices(fix.prices)
    rewritten = {(hazard, layer.layer) for layer in fix.rewrites for hazard in layer.hazards}
    left = {layer.layer for layer in fix.unrewritten} - {layer.layer for layer in fix.rewrites}
    arenas = any(change.before.arena != change.after.arena for change in fix.prices)
    for finding, promised in findings:
        sized = any(name.startswith("repair_") for name in promised.properties)
        if not repaired_by_fix(promised):
            yield promised
        elif not unsafe and (not fix.changed or (finding.location.node in left and not sized)):
            yield finding
        elif not words or (sized and not fix.rewrites and not arenas):
            yield promised
        elif sized and (finding.properties["hazard"], finding.location.node) in rewritten:
            yield replace(finding, properties={**finding.properties, "fixable": True, PRICE: words})
        else:
            yield replace(promised, properties={**promised.properties, PRICE: words})
