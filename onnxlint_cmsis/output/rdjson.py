"""Reviewdog Diagnostic Format (rdjson): findings as comments on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.output.plain import json_text, markdown
from onnxlint_cmsis.output.run import posix, rule_page, with_short_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.output.run import Run


_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def render(run: Run) -> str:
    """One diagnostic for each finding and internal error."""
    diagnostics = [diagnostic for file in run.files for diagnostic in _diagnostics(file, run)]
    return json_text({"source": {"name": "onnxlint-cmsis"}, "diagnostics": diagnostics})


def _diagnostics(file: FileResult, run: Run) -> Iterator[dict[str, object]]:
    """A model is no text, so that every finding is on its first line."""
    where = {"path": posix(file.path), "range": {"start": {"line": 1, "column": 1}}}
    for finding in file.findings:
        yield {
            "message": markdown(with_short_names(finding.complete, file, run)),
            "location": where,
            "severity": _SEVERITIES[finding.level.name.lower()],
            "code": {"value": finding.selector, "url": rule_page(finding.code)},
        }
    if file.error:
        yield {"message": f"internal error: {markdown(file.error)}", "location": where, "severity": "ERROR"}
