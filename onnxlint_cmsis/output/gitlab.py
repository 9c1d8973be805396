"""GitLab Code Quality: one JSON list for all files, without a version because GitLab gives it none."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from onnxlint_cmsis.analysis.fingerprints import fingerprints
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.output.foreign_text import json_text, printable
from onnxlint_cmsis.output.run_results import Run
from onnxlint_cmsis.output.shown_names import named_array, with_short_names
from onnxlint_cmsis.output.shown_paths import posix

SEVERITIES = {"error": "critical", "warning": "minor", "note": "info"}
"""Severities by level."""


def render(run: Run) -> str:
    """One entry for each finding and internal error."""
    return json_text([entry for file in run.files for entry in _entries(file, run)], 2)


def _entries(file: FileResult, run: Run) -> Iterator[dict[str, object]]:
    for finding, print_ in zip(file.findings, fingerprints(file.findings), strict=True):
        severity = SEVERITIES[finding.level.name.lower()]
        text = with_short_names(finding.complete, file, run)
        yield _entry(file, f"{finding.selector} {finding.name}", severity, text, print_)
    if file.error:
        yield _entry(file, "internal error", "blocker", file.error, "internal error")


def _entry(file: FileResult, check: str, severity: str, text: str, print_: str) -> dict[str, object]:
    """GitLab wants fingerprints that differ between files, and a line, of which a binary has only the first."""
    whole = f"{posix(file.path)}\0{print_}".encode("utf-8", "surrogatepass")
    return {
        "description": printable(named_array(text, file)),
        "check_name": check,
        "fingerprint": sha256(whole).hexdigest(),
        "severity": severity,
        "location": {"path": posix(file_of(file.path)), "lines": {"begin": file.line}},
    }
