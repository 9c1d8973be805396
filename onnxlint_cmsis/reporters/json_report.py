"""The versioned JSON report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from onnxlint_cmsis import __version__
from onnxlint_cmsis.reporters.fields import finding_fields, location_fields
from onnxlint_cmsis.reporters.fix_fields import fix_fields
from onnxlint_cmsis.reporters.report_run import by_code, by_level
from onnxlint_cmsis.results.fingerprint import fingerprints

if TYPE_CHECKING:
    from onnxlint_cmsis.reporters.report_run import Run
    from onnxlint_cmsis.results.file_result import FileResult

VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning; new fields do not change it."""


def render(run: Run) -> str:
    """The report as JSON text, ASCII only."""
    return json.dumps(report(run), indent=1) + "\n"


def report(run: Run) -> dict[str, object]:
    """The report as plain data."""
    return {
        "version": VERSION,
        "tool": {"name": "onnxlint-cmsis", "version": __version__},
        "targets": list(run.targets),
        "exit_code": run.exit_code,
        "files": [_file(file) for file in run.files],
        "findings": [finding for file in run.files for finding in _findings(file)],
        "statistics": {
            "by_code": {code: number for code, _, number in by_code(run.findings)},
            "by_level": dict(by_level(run.findings)),
        },
    }


def _file(file: FileResult) -> dict[str, object]:
    return {
        "path": file.path,
        "model": file.model,
        "readable": file.readable,
        "error": file.error,
        "notes": list(file.notes),
        "statistics": dict(file.statistics),
        "fix": fix_fields(file.fix) if file.fix else None,
    }


def _findings(file: FileResult) -> list[dict[str, object]]:
    prints = fingerprints(file.findings)
    return [
        {**finding_fields(finding), "location": location_fields(finding, file.path), "fingerprint": print_}
        for finding, print_ in zip(file.findings, prints, strict=True)
    ]
