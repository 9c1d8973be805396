"""GitHub Actions annotations: `::error file=...,title=...::message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.output.fixes import fix_heads
from onnxlint_cmsis.output.plain import annotation, annotation_property
from onnxlint_cmsis.output.run import posix, with_short_names

if TYPE_CHECKING:
    from onnxlint_cmsis.output.run import Run


_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(run: Run) -> str:
    """One line for each finding and internal error."""
    lines = []
    for file in run.files:
        for finding in file.findings:
            level, text = _COMMANDS[finding.level.name.lower()], with_short_names(finding.complete, file, run)
            lines.append(_command(level, file.path, f"{finding.selector} {finding.name}", text))
        failed, changed = (file.fix.failed, file.fix.changed) if file.fix else (False, False)
        level = "error" if failed else "warning" if changed and run.diff else "notice"
        lines += [_command(level, file.path, "fix", line) for line in fix_heads(file, run)]
        if file.error:
            lines.append(_command("error", file.path, "internal error", file.error))
    return "".join(f"{line}\n" for line in lines)


def _command(command: str, path: str, title: str, message: str) -> str:
    properties = f"file={annotation_property(posix(path))},title={annotation_property(title)}"
    return f"::{command} {properties}::{annotation(message)}"
