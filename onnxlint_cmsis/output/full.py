"""The verdict on each model and target, findings with their details file by file, and a summary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.analysis.verdict_text import lines_of, rank
from onnxlint_cmsis.formats.format import file_of, is_image
from onnxlint_cmsis.ground.findings import MEASURED, Effect, Finding, Resize, targets_text
from onnxlint_cmsis.output.concise import finding_line, verdict_lines
from onnxlint_cmsis.output.fixes import fix_lines, fix_summary
from onnxlint_cmsis.output.foreign_text import counted, paint
from onnxlint_cmsis.output.run_results import Run, by_level
from onnxlint_cmsis.output.shown_names import said, with_short_names
from onnxlint_cmsis.output.wrapping import DO, LABEL, labelled, wrapped

_AS_ABOVE = "as above."
"""What to do, where the finding above says the same."""
_ONCE = ("why", "known")
"""Lines that say the same of every finding of a kind: told with the first of a file."""


def render(run: Run) -> str:
    """The report as text: verdicts of several files as a table, that of one file at the head of its findings.

    The worst model comes first, with the image that it is in behind it, and other files that are no models last. Blank
    lines stand between files alone.
    """
    several = len(run.files) > 1
    ranks: dict[str, int] = {}
    for file in run.files:
        if file.model:
            worst = rank(file.verdicts)
            ranks[_image_of(file)] = min(ranks.get(_image_of(file), worst), worst)
    order = {name: number for number, name in enumerate(dict.fromkeys(map(_image_of, run.files)))}
    run = run._replace(files=tuple(sorted(run.files, key=partial(_rank_in_report, ranks, order))))
    table = "" if run.quiet or not several else _verdicts(run)
    clean = not several and not run.findings and all(file.verdicts and not file.fix for file in run.files)
    end = f" ({_libraries(run)})" if clean else ""  # where no last line says it
    blocks = [block for file in run.files if (block := "\n".join(_file(file, run, end, headed=not several)))]
    blocks = [table, *blocks] if table else blocks
    if run.statistics:
        from onnxlint_cmsis.output.statistics import statistics_lines

        blocks.append("\n".join(statistics_lines(run)))
    if not run.quiet and not (clean and run.files):
        text = summary(run)
        short, hinted = (wrapped(line, run.width, 0) for line in (text, f"{text}; --explain says why"))
        hints = run.findings and not run.explain and hinted.count("\n") == short.count("\n")  # no line for it alone
        blocks.append(hinted if hints else short)
    return ("\n\n" if several else "\n").join(blocks) + "\n" * bool(blocks)


def _image_of(file: FileResult) -> str:
    """The image that a model is in, else the path of the file."""
    image = file_of(file.path)
    return image if is_image(image) else file.path


def _rank_in_report(ranks: Mapping[str, int], order: Mapping[str, int], file: FileResult) -> tuple[int, ...]:
    image = _image_of(file)
    return image not in ranks, ranks.get(image, 0), order[image], not file.model, rank(file.verdicts)


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
    images = [file for file in run.files if is_image(file.path)]
    if not models and not images:
        return f"No models to lint{tail}"
    head = f"{fixes}. " if fixes else ""
    if not run.findings:
        verdict = "No warnings or errors" if run.hidden else "No findings"
        judged = f" for {targets}" if models else ""
        return f"{head}{verdict} in {counted(len(models or images), 'file')}{judged}{tail}"
    levels = ", ".join(counted(number, level) for level, number in by_level(run.findings) if number)
    touched, looked_at = (
        {_image_of(file) for file in files} for files in ([file for file in run.files if file.findings], models)
    )
    fixable = ""
    if any(file.fixable or file.fixable_unsafely for file in models):
        from onnxlint_cmsis.output.summaries import fixable_text

        fixable = f"; {fixable_text(models)}"
    where = f" in {len(touched & looked_at)} of {counted(len(looked_at), 'file')}" if len(models) > 1 else ""
    if not models:
        return f"{head}{levels}{tail}"
    libraries = _libraries(run)
    judged = f" for {targets}" if ";" in libraries else f" ({libraries})"  # verdicts above name the CPUs
    return f"{head}{levels}{where}{judged}{fixable}{tail}"


def _hidden(findings: tuple[Finding, ...]) -> str:
    """`; 4 more with --min-level note`."""
    if not findings:
        return ""
    lowest = min(finding.level for finding in findings).name.lower()
    return f"; {len(findings)} more with --min-level {lowest}"


def _verdicts(run: Run) -> str:
    """A table of the files with a row for each verdict, the worst of a file first; paths below their common folder."""
    models = [file for file in run.files if file.verdicts]
    try:
        folder = os.path.commonpath([Path(file.path).parent for file in models])
    except ValueError:  # no files, a path from the root beside one from here, or two drives
        folder = ""
    rows = []
    for file in models:
        for line in lines_of(file.verdicts):
            on = "all" if len(line.verdicts) == len(file.verdicts) else line.targets.replace("cortex-", "")
            word = f"{line.brief_word}{', FITS' if line.verdicts[0].fits else ''}"
            word += f", {line.accepted}" if line.accepted else ""
            figures = (line.brief_cost, line.arena.replace("at least ", ""), line.flash)
            rows.append((os.path.relpath(file.path, folder) if folder else file.path, word, on, *figures))
    heads = (f"file in {folder}" if folder else "file", "verdict", "on", "cost", "arena", "flash")
    alike = ("on",) if all(row[2] == "all" for row in rows) else ()
    from onnxlint_cmsis.output.text_table import TableFit, fitted

    fit = TableFit(run.width, elastic={heads[0]: 20}, spare=("flash", "arena", *alike))
    table = fitted(heads, rows, fit=fit) if rows else ""
    if 0 < run.width < max(map(len, table.splitlines()), default=0):
        narrower = fit._replace(elastic={heads[0]: 12, "verdict": 30, "on": 22}, spare=alike)
        table = fitted(heads[:4], [row[:4] for row in rows], fit=narrower)
    return table.rstrip()


def _libraries(run: Run) -> str:
    """`CMSIS-NN 7.0.0, gcc`."""
    return "; ".join(dict.fromkeys(label.partition(", ")[2] for label in run.targets))


def _file(file: FileResult, run: Run, end: str, *, headed: bool) -> Iterator[str]:
    """The verdicts of a file with their `end` or, below a table of these, its path alone; then what is told of it."""
    notes = [] if run.quiet or run.verbose else file.left_out if file.verdicts else file.notes  # -v has all of them
    body = [*fix_lines(file, run), *(labelled("note", with_short_names(note, file, run), run) for note in notes)]
    told: set[tuple[str, str]] = set()
    for finding in file.findings:
        body += _finding(finding, file, run, told)
    if run.verbose:
        from onnxlint_cmsis.output.summaries import summary_lines

        body += summary_lines(file, run)
    verdicts = [] if run.quiet or not headed else verdict_lines(file, run, _below(file, run), end)
    if verdicts:
        yield from verdicts
    elif file.findings or (notes and not file.fix) or (run.verbose and body):
        own = _libraries(_of_file(file, run))
        library = f" ({own})" if file.readable and not file.error and own != _libraries(run) else ""
        yield paint(wrapped(f"{file.path}{library}", run.width), "path", run.color)
    yield from body
    yield from (f"  {line}" for line in (file.application if verdicts or (run.verbose and not run.quiet) else ()))


def _of_file(file: FileResult, run: Run) -> Run:
    """The run as far as it is for this file: the targets that it was judged for, where it was."""
    return run._replace(targets=tuple(verdict.target for verdict in file.verdicts) or run.targets)


def _below(file: FileResult, run: Run) -> set[str]:
    """Codes of which every finding that decides a verdict is told below it; none with -v, which keeps names."""
    if run.verbose or any(verdict.accepted for verdict in file.verdicts):
        return set()
    hidden = {finding.selector for finding in run.hidden if finding.decides}
    return {finding.selector for finding in file.findings} - hidden


def _finding(finding: Finding, file: FileResult, run: Run, told: set[tuple[str, str]]) -> Iterator[str]:
    """A finding and its details without those that were told."""
    message = said(finding, file, run, brief=not run.explain)
    lines = [finding_line("", finding, message, _of_file(file, run))]
    before = {text for label, text in told if label == DO}
    told -= {(DO, text) for text in before}
    for label, text in _details(finding, file, run):
        if label in _ONCE and (label, text) in told:
            continue
        told.add((label, text))
        shown = _AS_ABOVE if label == DO and text in before and not run.explain else text
        lines.append(labelled(label, shown, run, len(DO) if label == DO and not run.explain else LABEL))
    yield from lines


def _details(finding: Finding, file: FileResult, run: Run) -> Iterator[tuple[str, str]]:
    """(label, text) of each line under a finding."""
    yield DO, with_short_names(what_to_do(finding, brief=not run.explain), file, run)
    if run.explain:
        yield from explanation(finding, lambda text: with_short_names(text, file, run))


_NO_REMEDY = {
    Effect.STOPS: "Change the layer so that the reason no longer holds, or build the network without it.",
    Effect.WRONG: "Change the layer so that the reason no longer holds, or build the network without it.",
    Effect.DOES_NOT_FIT: "Make the model smaller, or take a larger device.",
    Effect.NO_KERNEL: "Bring a kernel of your own, or train without it.",
    Effect.INVALID: "Mend the file, or export it again.",
    Effect.MAY_FAIL: "Change the layer so that the reason no longer holds, or build the network without it.",
    Effect.UNKNOWN: "See onnxlint-cmsis rule {code}.",
    Effect.REFERENCE: "Nothing: it runs, in reference code.",
    Effect.COSTS: "Nothing: it runs and is right.",
    Effect.NOTE: "Nothing: it changes nothing on the device.",
}
"""What to do about a finding whose rule names no remedy."""


_COUNTS = {
    "input_dims.c": "{} input channels",
    "output_dims.c": "{} output channels",
    "ch_mult": "{} output channels for each input channel",
}
"""What CMSIS-NN's names of counts mean to whoever trains."""


def what_to_do(finding: Finding, *, brief: bool = False) -> str:
    """The remedy, and that a fix applies it; where there is none, that there is nothing to do."""
    remedy = finding.mending(brief=brief)
    if remedy or finding.resize is None:
        return remedy or _NO_REMEDY[finding.effect].format(code=finding.code)
    if finding.locked:
        return "Nothing: the channel count may not change."
    count = _COUNTS.get(finding.resize.variable, "{} in " + finding.resize.variable).format(finding.resize.want)
    return f"Train it with {count}, or leave it as it is."


def explanation(finding: Finding, short: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Option, targets, kernels, sources, reason and evidence; `short` puts names in their short forms."""
    if "option" in finding.properties:
        yield "option", str(finding.properties["option"])  # names in it are those that the quantizer looks up
    if finding.targets:
        yield "targets", targets_text(finding.targets)
    if finding.taken or finding.wanted:
        yield "kernel", " -> ".join(kernel for kernel in (finding.taken, finding.wanted) if kernel)
    if finding.resize:
        yield "resize", short(_resize(finding.resize))
    for source in finding.sources:
        yield "source", str(source)
    for label in ("runtime", "sizes", "why", "known"):
        if label in finding.properties:
            yield label, short(str(finding.properties[label]))
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
