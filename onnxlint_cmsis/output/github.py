"""GitHub Actions annotations: `::error file=...,title=...::message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.output.fixes import fix_heads
from onnxlint_cmsis.output.plain import annotation, annotation_property
from onnxlint_cmsis.output.run import posix, with_short_names

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.output.run import Run


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(run: Run) -> str:
    """One line for each finding and internal error."""
    lines = []
    for file in run.files:
        lines += [_finding(file, finding, run) for finding in file.findings]
        lines += [_fix(file, line, run) for line in fix_heads(file, run)]
        if file.error:
            lines.append(_command("error", file.path, "internal error", file.error))
    return "".join(f"{line}\n" for line in lines)


def _finding(file: FileResult, finding: Finding, run: Run) -> str:
    title = f"{finding.code} {finding.name}"
    text = with_short_names(finding.complete, file, run)
    return _command(_COMMANDS[finding.level.name.lower()], file.path, title, text)


def _fix(file: FileResult, line: str, run: Run) -> str:
    """What came of a fix: an error where it failed, a warning where it is only shown, a notice else."""
    failed, changed = (file.fix.failed, file.fix.changed) if file.fix else (False, False)
    level = "error" if failed else "warning" if changed and run.diff else "notice"
    return _command(level, file.path, "fix", line)


def _command(command: str, path: str, title: str, message: str) -> str:
    properties = f"file={annotation_property(posix(path))},title={annotation_property(title)}"
    return f"::{command} {properties}::{annotation(message)}"
