"""One line for each verdict and finding: `path: CODE level message`."""

from __future__ import annotations

from collections.abc import Container

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS
from onnxlint_cmsis.analysis.verdict_text import lines_of
from onnxlint_cmsis.ground.findings import Effect, Finding, targets_text
from onnxlint_cmsis.output.fixes import fix_lines
from onnxlint_cmsis.output.foreign_text import paint, printable
from onnxlint_cmsis.output.run_results import Run
from onnxlint_cmsis.output.shown_names import said, with_short_names
from onnxlint_cmsis.output.wrapping import wrapped

STYLES = {
    **{word: "error" if effect.rank < Effect.MAY_FAIL.rank else "warning" for effect, word in WORDS.items()},
    **dict.fromkeys((WORDS[Effect.REFERENCE], WITHOUT), "note"),
    RUNS: "good",
}
"""Style of each word of a verdict."""


def render(run: Run) -> str:
    """The report as text; one line is one finding however wide the terminal is."""
    run = run._replace(width=0)
    lines = [line for file in run.files for line in file_lines(file, run)]
    if run.statistics:
        from onnxlint_cmsis.output.statistics import statistics_lines

        lines += statistics_lines(run)
    return "".join(f"{line}\n" for line in lines)


def file_lines(file: FileResult, run: Run) -> list[str]:
    """The lines of one file: its verdicts, then its findings."""
    lines = [] if run.quiet else verdict_lines(file, run)
    lines += list(fix_lines(file, run))[:1]
    lines += [] if run.quiet else [f"{printable(file.path)}: note {printable(note)}" for note in file.left_out]
    return lines + [_finding(file, finding, run) for finding in file.findings]


def _finding(file: FileResult, finding: Finding, run: Run) -> str:
    """What is the matter, and where there is one what to do; all that a reader of one format gets."""
    remedy = with_short_names(finding.mending(), file, run)
    return finding_line(file.path, finding, f"{said(finding, file, run)} {remedy}".strip(), run)


def finding_line(path: str, finding: Finding, text: str, run: Run) -> str:
    """`path: CODE level text`, with the targets where it does not hold for all of them; no path stands above it."""
    level = finding.level.name.lower()
    start = f"{printable(path)}: " if path else "  "
    partly = finding.targets and len(finding.targets) < len(run.targets)
    there = f" [on {_where(finding, run)}]" if partly else ""
    line = wrapped(f"{start}{finding.selector} {level} {text}{there}", run.width)
    head = f"{start}{finding.selector} {level} "
    if not run.color or not line.startswith(head):
        return line
    begin = f"{paint(printable(path), 'path', True)}: " if path else start
    return f"{begin}{paint(finding.selector, 'code', True)} {paint(level, level, True)} {line[len(head) :]}"


def _where(finding: Finding, run: Run) -> str:
    """The targets of a finding; their CPUs alone where the whole run is for one release and compiler."""
    libraries = {label.partition(", ")[2] for label in run.targets}
    cpus = ", ".join(label.partition(", ")[0] for label in finding.targets)
    return cpus if len(libraries) == 1 else targets_text(finding.targets)


def verdict_lines(file: FileResult, run: Run, below: Container[str] = (), end: str = "") -> list[str]:
    """`path: RUNS on cortex-m4: ...`, a line for each verdict of the file, the worst first; `below` as in `reason`.

    `end` is said behind the last.
    """
    names = {} if run.full_names else file.names
    lines = []
    verdicts = lines_of(file.verdicts)
    for verdict in verdicts:
        path, word = printable(file.path), verdict.verdicts[0].word
        line, head = (
            wrapped(f"{file.path}: {verdict.text(names, below)}{end if verdict is verdicts[-1] else ''}", run.width),
            f"{path}: {word}",
        )
        if run.color and line.startswith(head):
            line = f"{paint(path, 'path', True)}: {paint(word, STYLES[word], True)}{line[len(head) :]}"
        lines.append(line)
    return lines
