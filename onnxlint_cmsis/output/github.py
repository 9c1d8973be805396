"""Annotations of GitHub Actions: `::error file=...,title=...::message`."""

from __future__ import annotations

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.formats.format import file_of
from onnxlint_cmsis.output.fixes import fix_heads
from onnxlint_cmsis.output.foreign_text import annotation, annotation_property
from onnxlint_cmsis.output.run_results import Run
from onnxlint_cmsis.output.shown_names import named_array, with_short_names
from onnxlint_cmsis.output.shown_paths import posix

COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
"""Commands of annotations by level."""


def render(run: Run) -> str:
    """One line for each finding and internal error."""
    lines = []
    for file in run.files:
        for finding in file.findings:
            level, text = COMMANDS[finding.level.name.lower()], with_short_names(finding.complete, file, run)
            lines.append(_annotation(level, file, f"{finding.selector} {finding.name}", text))
        failed, changed = (file.fix.failed, file.fix.changed) if file.fix else (False, False)
        level = "error" if failed else "warning" if changed and run.diff else "notice"
        lines += [_annotation(level, file, "fix", line) for line in fix_heads(file, run)]
        if file.error:
            lines.append(_annotation("error", file, "internal error", file.error))
    return "".join(f"{line}\n" for line in lines)


def _annotation(command: str, file: FileResult, title: str, message: str) -> str:
    line = f",line={file.line}" if file.line > 1 else ""
    properties = f"file={annotation_property(posix(file_of(file.path)))}{line},title={annotation_property(title)}"
    return f"::{command} {properties}::{annotation(named_array(message, file))}"
