"""The sums behind the verdicts of a file: what CMSIS-NN computes of it, and what it needs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from onnxlint_cmsis.analysis.results import FileResult, FileSummary, LayerShare, TargetSummary
from onnxlint_cmsis.analysis.verdict_text import VerdictLine, cpu_of, rounded
from onnxlint_cmsis.output.run_results import Run
from onnxlint_cmsis.output.shown_names import listed, with_short_names
from onnxlint_cmsis.output.text_table import TableFit, fitted
from onnxlint_cmsis.output.wrapping import INDENT, labelled

_IF_ANY = ("no kernel", "open", "reference")
"""Columns that a narrow terminal leaves out where all have 0."""


_HEADS = ("target", "CMSIS-NN", "reference", "no kernel", "open", "MACs", "instructions", "flash", "arena", "scratch")


def summary_lines(file: FileResult, run: Run) -> Iterator[str]:
    """How a file was read, a table with a row for each target, and the layers outside CMSIS-NN; nothing unread."""
    for note in file.notes:
        yield labelled("note", with_short_names(note, file, run), run)
    summary = file.summary
    if not summary.targets:
        return
    width = max(run.width - INDENT, 0)
    rows = [_row(target, summary) for target in summary.targets]
    empty = [name for number, name in enumerate(_HEADS) if name in _IF_ANY and {row[number] for row in rows} == {"0"}]
    fit = TableFit(width, spare=("MACs", "scratch", *empty))
    table = fitted(_HEADS, rows, _HEADS[1:], fit)
    if width and max(map(len, table.splitlines())) > width:
        table = fitted(_HEADS, [_row(target, summary, brief=True) for target in summary.targets], _HEADS[1:], fit)
    yield textwrap.indent(table, " " * INDENT).rstrip()
    measured = ", ".join(dict.fromkeys(target.measured_on for target in summary.targets if target.cost_known))
    where = f", as measured on {measured}" if measured else "; no layer has a known cost"
    yield labelled("cost", f"predicted instructions, not cycles{where}", run)
    for target in summary.targets:
        if target.time:
            yield labelled("time", f"{_cpu(target)}: {target.time.text}", run)
    for number, where in enumerate(("in reference code", "no kernel", "not decided"), 1):
        for share in dict.fromkeys(_shares(target)[number] for target in summary.targets):
            if share.layers:
                names = with_short_names(listed(share.nodes, share.layers), file, run)
                yield labelled("layers", f"{where}: {names}", run)
    if summary.copies:
        names = with_short_names(listed(summary.copies), file, run)
        yield labelled("copies", f"{len(summary.copies)} to another memory order, in reference code: {names}", run)


def _row(target: TargetSummary, summary: FileSummary, *, brief: bool = False) -> tuple[str, ...]:
    """The cells of a target, instructions with three digits where it is brief; `?` for a number that is not known."""
    arena = summary.arena if target.arena_to_write is None else target.arena_to_write
    numbers = (target.flash, arena, target.scratch)
    return (
        _cpu(target),
        *(f"{share.layers}" for share in _shares(target)),
        f"{summary.macs:,}",
        cost_text(target, brief=brief) if target.cost_known else "?",
        *("?" if number is None else f"{number:,}" for number in numbers),
    )


def _shares(target: TargetSummary) -> tuple[LayerShare, ...]:
    return target.cmsis_nn, target.reference_code, target.no_kernel, target.undecided


def fixable_text(files: Sequence[FileResult]) -> str:
    """`1 fixable with --fix, 2 more to try with --unsafe-fixes`."""
    exactly, unsafely = (sum(getattr(file, name) for file in files) for name in ("fixable", "fixable_unsafely"))
    if unsafely and not exactly:
        return f"{unsafely} to try with --fix --unsafe-fixes"
    return f"{exactly} fixable with --fix" + (f", {unsafely} more to try with --unsafe-fixes" if unsafely else "")


def summary_fields(file: FileResult) -> dict[str, object] | None:
    """The summary as plain data for JSON and SARIF."""
    summary = file.summary
    if not summary.targets:
        return None
    return {
        "macs": summary.macs,
        "unknown_macs": summary.unknown_macs,
        "arena_at_least": summary.arena,
        "copies": list(summary.copies),
        "findings": len(file.told),
        "fixable": file.fixable,
        "fixable_unsafely": file.fixable_unsafely,
        "targets": [_target_fields(target) for target in summary.targets],
    }


def verdict_fields(file: FileResult) -> list[dict[str, object]]:
    """The verdicts as plain data for JSON and SARIF, each with its words for people."""
    return [{**verdict._asdict(), "text": VerdictLine((verdict,)).text(file.names)} for verdict in file.verdicts]


def _target_fields(target: TargetSummary) -> dict[str, object]:
    names = ("cmsis_nn", "reference_code", "no_kernel", "undecided")
    pairs = zip(names, _shares(target), strict=True)
    shares = {name: {**share._asdict(), "nodes": list(share.nodes)} for name, share in pairs}
    shares["refused"] = shares["no_kernel"]  # its name in version 1 of the report
    known = {name: value for name, value in target._asdict().items() if value is not None}
    layers = [{"node": node, **time.bounds} for node, time in known.pop("layer_times")]
    time = {"time": target.time.fields | {"layers": layers}} if target.time else {}
    return {**known, **shares, **time}


def _cpu(target: TargetSummary) -> str:
    return cpu_of(target.target)


def cost_text(target: TargetSummary, *, brief: bool = False) -> str:
    """`311,844`, or `between 450,000 and 2,100,000`; with three digits `450k to 2.10M`."""
    least, most = target.instructions_range or (target.instructions, target.instructions)
    if brief:
        return rounded(least) if least == most else f"{rounded(least)} to {rounded(most)}"
    return f"{least:,}" if target.instructions_range is None else f"between {least:,} and {most:,}"
