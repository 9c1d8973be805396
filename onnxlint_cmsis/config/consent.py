"""Findings that a fix of one file may act on: their rules run and are fixable, and no suppression accepts them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from onnxlint_cmsis.config.accepted import suppressed
from onnxlint_cmsis.config.selection import fixable
from onnxlint_cmsis.config.settings import Settings

if TYPE_CHECKING:
    from onnxlint_cmsis.config.baseline import Baseline
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.model.graph import Graph


class Consent:
    """What the settings, the model and the baseline say about the findings of one file."""

    def __init__(self, settings: Settings, path: str) -> None:
        self._settings, self._path = settings, path

    @cached_property
    def _codes(self) -> frozenset[str]:
        """Codes of the rules whose findings a fix may act on."""
        return fixable(self._settings, self._path)

    @cached_property
    def _baseline(self) -> Baseline | None:
        """The baseline, read when a finding is first asked about. Raises BaselineError."""
        if not self._settings.baseline:
            return None
        from onnxlint_cmsis.config.baseline import read

        return read(self._settings.baseline)

    def fixable(self, graph: Graph, finding: Finding) -> bool:
        """Tell whether a fix may act on a finding."""
        return finding.code in self._codes and not self.accepted(graph, finding)

    def plans(self, code: str) -> bool:
        """Tell whether a fix may act on findings of a rule on memory plans."""
        from onnxlint_cmsis.checks.fix_actions import PLAN
        from onnxlint_cmsis.checks.rule_registry import rule

        return code in self._codes and rule(code).action is PLAN

    def accepted(self, graph: Graph, finding: Finding) -> bool:
        """Tell whether the configuration, the model or the baseline accepts a finding, of any rule."""
        if suppressed(self._settings, self._path, graph, finding):
            return True
        if self._baseline is None:
            return False
        from onnxlint_cmsis.config.baseline import has

        return has(self._baseline, self._path, finding)
