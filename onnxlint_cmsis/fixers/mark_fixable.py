"""Marks findings on layers that a fix would repair: by rewriting, or with a Pad behind an input. It tries no fix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.fix_actions import RESCALE, REWRITE
from onnxlint_cmsis.checks.rule_registry import rule
from onnxlint_cmsis.config import codes
from onnxlint_cmsis.findings import UNSAFELY
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
    safely = _repaired(model, settings, finding)
    if safely is None:
        return finding
    return replace(finding, properties={**properties, "fixable" if safely else UNSAFELY: True})


def _repaired(model: ModelAnalysis, settings: Settings, finding: Finding) -> bool | None:
    """Whether a fix repairs it with these settings. None: --unsafe-fixes would not repair it either."""
    repair = repair_for(model, finding)
    if repair is not None:
        return repair.exact or settings.unsafe_fixes
    if finding.resize is None or "hazard" not in finding.properties:
        return None
    from onnxlint_cmsis.fixers.pad_inputs import pad_would_do

    return settings.unsafe_fixes if pad_would_do(model, finding.resize) else None
