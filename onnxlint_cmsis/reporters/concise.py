"""One line for each finding: `path: CODE level message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.fixes import fix_lines
from onnxlint_cmsis.reporters.plain import paint, printable
from onnxlint_cmsis.reporters.statistics import statistics_lines

if TYPE_CHECKING:
    from onnxlint_cmsis.reporters.report_run import Run
    from onnxlint_cmsis.results.file_result import FileResult
    from onnxlint_cmsis.types import Finding


def render(run: Run) -> str:
    """The report as text."""
    lines = [line for file in run.files for line in file_lines(file, run)]
    if run.statistics:
        lines += statistics_lines(run)
    return "".join(f"{line}\n" for line in lines)


def file_lines(file: FileResult, run: Run) -> list[str]:
    """The lines of one file: its notes, then its findings."""
    lines = [] if run.quiet else [note_line(file, note, run.color) for note in file.notes]
    lines += list(fix_lines(file, run))[:1]
    return lines + [finding_line(file, finding, finding.complete, run.color) for finding in file.findings]


def finding_line(file: FileResult, finding: Finding, text: str, color: bool) -> str:
    """`path: CODE level text`."""
    level = finding.level.name.lower()
    path, code = paint(printable(file.path), "path", color), paint(finding.code, "code", color)
    return f"{path}: {code} {paint(level, level, color)} {printable(text)}"


def note_line(file: FileResult, note: str, color: bool) -> str:
    """`path: note`, a line without a code."""
    return paint(f"{printable(file.path)}: {printable(note)}", "faint", color)
