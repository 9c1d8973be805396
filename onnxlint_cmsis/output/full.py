"""Findings with their details, file by file, and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.findings import AFTER_PROOF, MEASURED, UNSAFELY, targets_text
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.output.concise import finding_line, note_line
from onnxlint_cmsis.output.fixes import fix_lines, fix_summary, fixable_text, summary_lines
from onnxlint_cmsis.output.plain import counted, fits, labelled, paint, wrapped
from onnxlint_cmsis.output.run import by_level, said, statistics_lines, with_short_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.results import FileResult
    from onnxlint_cmsis.ground.findings import Finding, Resize
    from onnxlint_cmsis.output.run import Run


_ONCE = ("why", "known", "help")
"""Lines that say the same of every finding of a kind: told with the first of a file."""


def render(run: Run) -> str:
    """The report as text."""
    blocks = [block for file in run.files if (block := "\n".join(_file(file, run)))]
    if run.statistics:
        blocks.append("\n".join(statistics_lines(run)))
    if not run.quiet:
        blocks.append(wrapped(summary(run), run.width, 0))
    return "".join(f"{block}\n\n" for block in blocks[:-1]) + "".join(f"{block}\n" for block in blocks[-1:])


def summary(run: Run) -> str:
    """The last line: what was found where, and for which targets."""
    models = [file for file in run.files if file.model]
    fixes = fix_summary(run)
    if fixes and not run.linted and not run.findings:
        return fixes
    targets = targets_text(run.targets)
    failed = sum(bool(file.error) or not file.readable for file in models)
    tail = _hidden(run.hidden)
    tail += f", {counted(failed, 'file')} not analysed" if failed else ""
    if not models:
        return f"No models to lint{tail}"
    head = f"{fixes}. " if fixes else ""
    if not run.findings:
        verdict = "No warnings or errors" if run.hidden else "No findings"
        return f"{head}{verdict} in {counted(len(models), 'file')} for {targets}{tail}"
    levels = ", ".join(counted(number, level) for level, number in by_level(run.findings) if number)
    touched = sum(bool(file.findings) for file in models)
    asked = len(models) > 1 and any(file.fixable or file.fixable_unsafely for file in models)
    fixable = f"; {fixable_text(models)}" if asked else ""
    return f"{head}{levels} in {touched} of {counted(len(models), 'file')} for {targets}{fixable}{tail}"


def _hidden(findings: tuple[Finding, ...]) -> str:
    """`; 4 notes not shown, 2 of them about LOCKED channels (--min-level note)`."""
    if not findings:
        return ""
    lowest = min(finding.level for finding in findings).name.lower()
    noun = "finding" if any(finding.level > Level.NOTE for finding in findings) else "note"
    locked = sum(finding.locked for finding in findings)
    apart = f", {locked} of them about LOCKED channels" if locked else ""
    return f"; {counted(len(findings), noun)} not shown{apart} (--min-level {lowest})"


def _file(file: FileResult, run: Run) -> Iterator[str]:
    if not run.quiet:
        yield from (note_line(file, note, run) for note in file.notes)
    yield from fix_lines(file, run)
    told: set[tuple[str, str]] = set()
    for finding in file.findings:
        yield from _finding(finding, file, run, told)
    if not run.quiet:
        yield from _summary(file, run)


def _finding(finding: Finding, file: FileResult, run: Run, told: set[tuple[str, str]]) -> Iterator[str]:
    """A finding and its details without those that were told; `help` ends the line before it where that has room."""
    lines = [finding_line(file, finding, said(finding, file, run, brief=not run.explain), run)]
    for label, text in _details(finding, file, run):
        if label in _ONCE and (label, text) in told:
            continue
        told.add((label, text))
        line = labelled(label, text, run)
        if label == "help" and not run.explain and fits(lines[-1], f" {label}: {text}", run):
            lines[-1] += paint(f" {label}: {text}", "faint", run.color)
        else:
            lines.append(line)
    yield from lines


def _summary(file: FileResult, run: Run) -> Iterator[str]:
    lines = list(summary_lines(file))
    if lines:
        yield paint(wrapped(f"{file.path}: summary", run.width), "path", run.color)
    yield from (labelled(label, with_short_names(text, file, run), run) for label, text in lines)


def _details(finding: Finding, file: FileResult, run: Run) -> Iterator[tuple[str, str]]:
    """(label, text) of each line under a finding."""
    remedy = what_to_do(finding, brief=not run.explain)
    if remedy:
        yield "do", with_short_names(remedy, file, run)
    if run.explain and "option" in finding.properties:
        yield "option", str(finding.properties["option"])  # names in it are those that the quantizer looks up
    if run.explain:
        yield from _explanation(finding, file, run)
    yield "help", f"onnxlint-cmsis rule {finding.code}"


def what_to_do(finding: Finding, *, brief: bool = False) -> str:
    """The remedy, and that a fix applies it."""
    remedy = (brief and finding.brief_remedy) or finding.remedy
    if finding.properties.get(AFTER_PROOF):
        return f"{remedy} --fix does it where ONNX Runtime's outputs stay the same, else --fix --unsafe-fixes.".strip()
    if finding.properties.get(UNSAFELY):
        pads = "adds a Pad node behind the input instead"
        does = "does it (outputs: up to one step)" if brief else "does it; outputs may change by one step"
        does = pads if "hazard" in finding.properties else does
        return f"{remedy} --fix --unsafe-fixes {does}.".strip()
    if not finding.properties.get("fixable") or "--fix" in remedy:
        return remedy
    verb = "repairs" if "hazard" in finding.properties else "does"
    return f"{remedy} --fix {verb} it.".strip()


def _explanation(finding: Finding, file: FileResult, run: Run) -> Iterator[tuple[str, str]]:
    """Targets, kernels, sources, reason and evidence."""
    if finding.targets:
        yield "targets", targets_text(finding.targets)
    if finding.taken or finding.wanted:
        yield "kernel", " -> ".join(kernel for kernel in (finding.taken, finding.wanted) if kernel)
    if finding.resize:
        yield "resize", with_short_names(_resize(finding.resize), file, run)
    for source in finding.sources:
        yield "source", str(source)
    for label in ("runtime", "sizes", "why", "known"):
        if label in finding.properties:
            yield label, with_short_names(str(finding.properties[label]), file, run)
    for name, pairs in finding.properties.items():
        if name.startswith(MEASURED):
            yield "measured", f"{name.removeprefix(MEASURED)}: {pairs}"


def _resize(resize: Resize) -> str:
    """`input_dims.c 10 -> 12 (axis 1 of 'x'): COUPLED, decided by 'Conv_1', 'Conv_2'`."""
    text = f"{resize.variable} {resize.have} -> {resize.want} (axis {resize.axis} of '{resize.tensor}')"
    text += f": {resize.freedom.value}"
    if resize.lock:
        return f"{text}, {resize.lock}"
    layers = ", ".join(f"'{layer}'" for layer in resize.layers)
    return f"{text}, decided by {layers}" if layers else text
