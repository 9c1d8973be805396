"""The versioned JSON report."""

from __future__ import annotations

from onnxlint_cmsis.analysis.fingerprints import fingerprints
from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.output.finding_json import finding_fields, finite, location_fields, resize_fields
from onnxlint_cmsis.output.fix_json import fix_fields
from onnxlint_cmsis.output.foreign_text import json_text
from onnxlint_cmsis.output.run_results import Run, by_code, by_level
from onnxlint_cmsis.output.summaries import summary_fields, verdict_fields

VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning; new fields do not change it."""


def render(run: Run) -> str:
    """The report as JSON text, ASCII only."""
    return json_text(report(run))


def report(run: Run) -> dict[str, object]:
    """The report as plain data."""
    return {
        "version": VERSION,
        "tool": {"name": "onnxlint-cmsis", "version": __version__},
        "targets": list(run.targets),
        "exit_code": run.exit_code,
        "files": [
            {
                "path": file.path,
                "model": file.model,
                "readable": file.readable,
                "error": file.error,
                "notes": list(file.notes),
                "statistics": dict(file.statistics),
                "verdicts": verdict_fields(file),
                "summary": summary_fields(file),
                "fix": fix_fields(file.fix) if file.fix else None,
            }
            for file in run.files
        ],
        "findings": [finding for file in run.files for finding in _findings(file)],
        "statistics": {
            "by_code": {code: number for code, _, number in by_code(run.findings)},
            "by_level": dict(by_level(run.findings)),
        },
    }


def _findings(file: FileResult) -> list[dict[str, object]]:
    return [
        {
            **finding_fields(finding),
            "location": location_fields(finding, file.path),
            "fingerprint": print_,
            "others": [
                {
                    "message": other.text,
                    "remedy": other.remedy,
                    "resize": resize_fields(other.resize) if other.resize else None,
                    "properties": {name: finite(value) for name, value in other.properties.items()},
                    "location": location_fields(other, file.path),
                    "fingerprint": print_,
                }
                for other, print_ in zip(finding.others, fingerprints(finding.others), strict=True)
            ],
        }
        for finding, print_ in zip(file.findings, fingerprints(file.findings), strict=True)
    ]
