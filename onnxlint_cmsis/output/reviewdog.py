"""Reviewdog Diagnostic Format (rdjson): findings as comments on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.output.foreign_text import json_text, markdown
from onnxlint_cmsis.output.project import rule_page
from onnxlint_cmsis.output.run_results import Run
from onnxlint_cmsis.output.shown_names import named_array, with_short_names
from onnxlint_cmsis.output.shown_paths import posix

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
"""Severities by level."""


def render(run: Run) -> str:
    """One diagnostic for each finding and internal error."""
    diagnostics = [diagnostic for file in run.files for diagnostic in _diagnostics(file, run)]
    return json_text({"source": {"name": "onnxlint-cmsis"}, "diagnostics": diagnostics})


def _diagnostics(file: FileResult, run: Run) -> Iterator[dict[str, object]]:
    """A model is no text, so that every finding is on its first line, or on that of the array in a C file."""
    where = {"path": posix(file_of(file.path)), "range": {"start": {"line": file.line, "column": 1}}}
    for finding in file.findings:
        yield {
            "message": markdown(named_array(with_short_names(finding.complete, file, run), file)),
            "location": where,
            "severity": SEVERITIES[finding.level.name.lower()],
            "code": {"value": finding.selector, "url": rule_page(finding.code)},
        }
    if file.error:
        text = named_array(f"internal error: {file.error}", file)
        yield {"message": markdown(text), "location": where, "severity": "ERROR"}
