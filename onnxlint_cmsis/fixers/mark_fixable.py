"""Marks findings on layers that a fix would repair: by rewriting, or with a Pad behind an input. It tries no fix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.fix_actions import RESCALE, REWRITE
from onnxlint_cmsis.checks.rule_registry import rule
from onnxlint_cmsis.config import codes
from onnxlint_cmsis.findings import AFTER_PROOF, UNSAFELY
from onnxlint_cmsis.rewrite.repairs.needed import repair_for

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.findings import Finding


def mark_fixable(model: ModelAnalysis, settings: Settings, finding: Finding) -> Finding:
    """The finding, marked as fixable if a repair fits it and the settings allow the repair."""
    properties = finding.properties
    if properties.get("fixable") or not ("hazard" in properties or rule(finding.code).action in (REWRITE, RESCALE)):
        return finding
    if finding.code not in codes.fixable(settings, model.path):
        return finding
    return replace(finding, properties={**properties, **dict.fromkeys(_marks(model, settings, finding), True)})


def _marks(model: ModelAnalysis, settings: Settings, finding: Finding) -> tuple[str, ...]:
    """Properties that say how a fix repairs it; none where --unsafe-fixes would not repair it either."""
    repair = repair_for(model, finding)
    if repair is not None:
        if settings.unsafe_fixes or (repair.exact and not repair.as_written):
            return ("fixable",)
        return (UNSAFELY, AFTER_PROOF) if repair.exact else (UNSAFELY,)
    if finding.resize is None or "hazard" not in finding.properties:
        return ()
    from onnxlint_cmsis.fixers.pad_inputs import pad_would_do

    if not pad_would_do(model, finding.resize):
        return ()
    return ("fixable",) if settings.unsafe_fixes else (UNSAFELY,)
