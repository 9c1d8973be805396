"""Marks findings on layers that a fix would repair: by rewriting, tried in memory, or with a Pad behind an input.

What is not tried is the proof. A repair whose proof depends on what runs the model says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint_cmsis.checks.facts import RESCALE, REWRITE
from onnxlint_cmsis.checks.rule_registry import rule
from onnxlint_cmsis.config.settings import fixable
from onnxlint_cmsis.ground.errors import NotAppliedError, UnreadableError
from onnxlint_cmsis.ground.findings import AFTER_PROOF, UNSAFELY
from onnxlint_cmsis.model.graph import ModelError
from onnxlint_cmsis.planning.repairable import pad_would_do, repair_for

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.settings import Settings
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.planning.repairable import RepairRow


class Promises:
    """What a fix of one file would do about its findings."""

    def __init__(self, model: ModelAnalysis, settings: Settings, data: bytes | None) -> None:
        """`data` is the content where it does not come from the file."""
        self._model, self._settings, self._data = model, settings, data
        self._repaired: dict[str, frozenset[str]] = {}
        """Layers that each repair was seen to mend, by the name of the repair."""

    def marked(self, finding: Finding) -> Finding:
        """The finding, marked as fixable if a repair fits it and the settings allow the repair."""
        properties = finding.properties
        if properties.get("fixable") or not ("hazard" in properties or rule(finding.code).action in (REWRITE, RESCALE)):
            return finding
        if finding.code not in fixable(self._settings, self._model.path):
            return finding
        return replace(finding, properties={**properties, **dict.fromkeys(self._marks(finding), True)})

    def _marks(self, finding: Finding) -> tuple[str, ...]:
        """Properties that say how a fix repairs it; none where --unsafe-fixes would not repair it either."""
        repair = repair_for(self._model, finding)
        if repair is not None and not (repair.hazards and finding.location.node not in self._mends(repair)):
            if self._settings.unsafe_fixes or (repair.exact and not repair.as_written):
                return ("fixable",)
            return (UNSAFELY, AFTER_PROOF) if repair.exact else (UNSAFELY,)
        if finding.resize is None or "hazard" not in finding.properties:
            return ()
        if not pad_would_do(self._model, finding.resize):
            return ()
        return ("fixable",) if self._settings.unsafe_fixes else (UNSAFELY,)

    def _mends(self, repair: RepairRow) -> frozenset[str]:
        """Layers that meet fewer hazards after a repair, as fixing would do it; labels."""
        if repair.name not in self._repaired:
            self._repaired[repair.name] = frozenset(self._tried(repair))
        return self._repaired[repair.name]

    def _tried(self, repair: RepairRow) -> list[str]:
        from onnxlint_cmsis.fixers.rewriting import Snapshot, fix_request, rewritten_by
        from onnxlint_cmsis.formats.onnx.wire import open_buffer

        path, settings = self._model.path, self._settings
        try:
            data = open_buffer(path)[:] if self._data is None else self._data
            start = Snapshot(path, data, fix_request(settings, path), analysis=self._model)
            start.editor.check_readable(data, path)
            return [layer.label for layer in rewritten_by(repair, start, settings.fix_budget_bytes).layers]
        except (OSError, ModelError, UnreadableError, NotAppliedError):
            return []
