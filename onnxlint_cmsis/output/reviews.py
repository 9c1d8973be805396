"""Findings for what shows them beside code: annotations of GitHub, Code Quality of GitLab, and reviewdog."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import fingerprints
from onnxlint_cmsis.output.fixes import fix_heads
from onnxlint_cmsis.output.plain import annotation, annotation_property, json_text, markdown, printable
from onnxlint_cmsis.output.run import posix, rule_page, with_short_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.output.run import Run


# GitHub Actions: `::error file=...,title=...::message`.


LEVELS_OF_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}
"""Commands of annotations by level."""


def github(run: Run) -> str:
    """One line for each finding and internal error."""
    lines = []
    for file in run.files:
        for finding in file.findings:
            level, text = LEVELS_OF_GITHUB[finding.level.name.lower()], with_short_names(finding.complete, file, run)
            lines.append(_annotation(level, file.path, f"{finding.selector} {finding.name}", text))
        failed, changed = (file.fix.failed, file.fix.changed) if file.fix else (False, False)
        level = "error" if failed else "warning" if changed and run.diff else "notice"
        lines += [_annotation(level, file.path, "fix", line) for line in fix_heads(file, run)]
        if file.error:
            lines.append(_annotation("error", file.path, "internal error", file.error))
    return "".join(f"{line}\n" for line in lines)


def _annotation(command: str, path: str, title: str, message: str) -> str:
    properties = f"file={annotation_property(posix(path))},title={annotation_property(title)}"
    return f"::{command} {properties}::{annotation(message)}"


# GitLab Code Quality: one JSON list for all files, without a version because GitLab gives it none.


SEVERITIES_OF_GITLAB = {"error": "critical", "warning": "minor", "note": "info"}
"""Severities by level."""


def gitlab(run: Run) -> str:
    """One entry for each finding and internal error."""
    return json_text([entry for file in run.files for entry in _entries(file, run)], 2)


def _entries(file: FileResult, run: Run) -> Iterator[dict[str, object]]:
    for finding, print_ in zip(file.findings, fingerprints(file.findings), strict=True):
        severity = SEVERITIES_OF_GITLAB[finding.level.name.lower()]
        yield _entry(
            file.path,
            f"{finding.selector} {finding.name}",
            severity,
            with_short_names(finding.complete, file, run),
            print_,
        )
    if file.error:
        yield _entry(file.path, "internal error", "blocker", file.error, "internal error")


def _entry(path: str, check: str, severity: str, text: str, print_: str) -> dict[str, object]:
    """GitLab wants fingerprints that differ between files, and a line, of which a binary has only the first."""
    whole = f"{posix(path)}\0{print_}".encode("utf-8", "surrogatepass")
    return {
        "description": printable(text),
        "check_name": check,
        "fingerprint": sha256(whole).hexdigest(),
        "severity": severity,
        "location": {"path": posix(path), "lines": {"begin": 1}},
    }


# Reviewdog Diagnostic Format (rdjson): findings as comments on a pull request.


SEVERITIES_OF_REVIEWDOG = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
"""Severities by level."""


def rdjson(run: Run) -> str:
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
            "severity": SEVERITIES_OF_REVIEWDOG[finding.level.name.lower()],
            "code": {"value": finding.selector, "url": rule_page(finding.code)},
        }
    if file.error:
        yield {"message": f"internal error: {markdown(file.error)}", "location": where, "severity": "ERROR"}
