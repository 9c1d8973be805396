"""The summary of a file: what CMSIS-NN computes of it, and what it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.reporters.plain import counted
from onnxlint_cmsis.results.file_summary import PLAIN

if TYPE_CHECKING:
    from onnxlint_cmsis.results.file_result import FileResult
    from onnxlint_cmsis.results.file_summary import FileSummary, LayerShare, TargetSummary

SHOWN = 3
"""Nodes that a line names before it only counts."""


def summary_lines(file: FileResult) -> Iterator[tuple[str, str]]:
    """(label, text) of each line of a file's summary; none where it was not analysed."""
    summary = file.summary
    if summary is None or not summary.targets:
        return
    for targets, first in _alike(summary):
        yield from _layers(summary, first, targets)
    if summary.copies:
        yield "copies", _copies(summary)
    yield "cost", _cost(summary)
    yield from _times(summary)
    yield "memory", _memory(summary)
    yield "findings", f"{len(file.told)}, {fixable_text([file])}"


def fixable_text(files: Sequence[FileResult]) -> str:
    """`1 fixable with --fix, 2 more with --unsafe-fixes`."""
    exactly, unsafely = (sum(getattr(file, name) for file in files) for name in ("fixable", "fixable_unsafely"))
    return f"{exactly} fixable with --fix" + (f", {unsafely} more with --unsafe-fixes" if unsafely else "")


def summary_fields(file: FileResult) -> dict[str, object] | None:
    """The summary as plain data for JSON and SARIF."""
    summary = file.summary
    if summary is None:
        return None
    return {
        "macs": summary.macs,
        "unknown_macs": summary.unknown_macs,
        "arena_at_least": summary.arena,
        "copies": list(summary.copies),
        "findings": len(file.told),
        "fixable": file.fixable,
        "fixable_unsafely": file.fixable_unsafely,
        "targets": [_fields(target) for target in summary.targets],
    }


def _fields(target: TargetSummary) -> dict[str, object]:
    shares = {name: {**each._asdict(), "nodes": list(each.nodes)} for name, each in _shares(target).items()}
    known = {name: value for name, value in target._asdict().items() if value is not None}
    time = {"time": target.time.fields} if target.time else {}
    return {**known, **shares, **time}


def _shares(target: TargetSummary) -> dict[str, LayerShare]:
    return {
        "cmsis_nn": target.cmsis_nn,
        "plain": target.plain,
        "refused": target.refused,
        "undecided": target.undecided,
    }


def _alike(summary: FileSummary) -> list[tuple[str, TargetSummary]]:
    """Targets whose layers have the same verdicts, with one of them; no name where all are alike."""
    groups: dict[tuple[LayerShare, ...], list[TargetSummary]] = {}
    for target in summary.targets:
        groups.setdefault(tuple(_shares(target).values()), []).append(target)
    if len(groups) == 1:
        return [("", summary.targets[0])]
    return [(f"{', '.join(_cpu(each) for each in group)}: ", group[0]) for group in groups.values()]


def _layers(summary: FileSummary, target: TargetSummary, targets: str) -> Iterator[tuple[str, str]]:
    shares = _shares(target)
    every = sum(share.layers for share in shares.values())
    more = f", {counted(summary.unknown_macs, 'layer')} of unknown size left out" if summary.unknown_macs else ""
    work = f"{_part(target.cmsis_nn.macs, summary.macs)} of {summary.macs:,} MACs" if summary.macs else "no MACs known"
    part = f", {_percents(target.cmsis_nn_share)} of the instructions" if target.cmsis_nn_share else ""
    yield "layers", f"{targets}{target.cmsis_nn.layers} of {every} in CMSIS-NN ({work}{part}{more})"
    words = (
        ("plain" if summary.beside == PLAIN else "beside", target.plain, f"in {summary.beside}"),
        ("refused", target.refused, "in neither"),
    )
    for label, share, where in (*words, ("open", target.undecided, "not decided")):
        if share.layers:
            yield label, f"{targets}{share.layers} {where} ({_part(share.macs, summary.macs)} of MACs): {_named(share)}"


def _part(macs: int, every: int) -> str:
    """`97 %`; all and nothing are never rounded to."""
    if not every or macs in (0, every):
        return "100 %" if every and macs else "0 %"
    return f"{min(max(round(100 * macs / every), 1), 99)} %"


def _named(share: LayerShare) -> str:
    more = f" and {share.layers - SHOWN} more" if share.layers > SHOWN else ""
    names = ", ".join(f"'{name}'" for name in share.nodes[:SHOWN])
    return f"{names}{more}"


def _percents(parts: tuple[float, float]) -> str:
    """`11 to 15 %`; all and nothing are never rounded to."""
    low, high = (min(max(round(100 * part), 1), 99) for part in parts)
    return f"{low} %" if low == high else f"{low} to {high} %"


def _copies(summary: FileSummary) -> str:
    """Where the application copies from one memory order to another."""
    names = ", ".join(f"'{name}'" for name in summary.copies[:SHOWN])
    more = f" and {len(summary.copies) - SHOWN} more" if len(summary.copies) > SHOWN else ""
    from onnxlint_cmsis.lower.layout_copies import MAY_GO

    return f"{len(summary.copies)} to another memory order, in {summary.beside}: {names}{more}; {MAY_GO}"


def _cpu(target: TargetSummary) -> str:
    return target.target.partition(", ")[0]


def _cost(summary: FileSummary) -> str:
    """Predicted instructions, builds of other targets that they were measured on, and the layers left out."""
    told = [target for target in summary.targets if target.cost_known]
    if not told:
        return "unknown"
    known = _each(summary, [cost_text(target) if target.cost_known else "unknown" for target in summary.targets])
    others = dict.fromkeys(one.measured_on for one in told if not one.target.startswith(one.measured_on))
    measured = f", as measured on {', '.join(others)}" if others else ""
    left = _left_out(summary)
    return f"{known} predicted instructions (not cycles){measured}{left and f', {left} left out'}"


def cost_text(target: TargetSummary) -> str:
    """`311,844`, or `between 450,000 and 2,100,000`."""
    if target.instructions_range is None:
        return f"{target.instructions:,}"
    least, most = target.instructions_range
    return f"between {least:,} and {most:,}"


def _left_out(summary: FileSummary) -> str:
    """`2 layers of unknown cost on cortex-m4 and 1 on cortex-m55`; without CPUs where all have as many."""
    cpus: dict[int, list[str]] = {}
    told = [target for target in summary.targets if target.cost_known]
    for target in told:
        cpus.setdefault(target.unknown_cost, []).append(_cpu(target))
    alike = len(cpus) == 1 and len(told) == len(summary.targets)
    places = {number: "" if alike else f" on {', '.join(names)}" for number, names in cpus.items() if number}
    words = [f"{counted(number, 'layer')} of unknown cost{where}" for number, where in places.items()][:1]
    return " and ".join([*words, *(f"{number}{where}" for number, where in list(places.items())[1:])])


def _times(summary: FileSummary) -> Iterator[tuple[str, str]]:
    """A line for each target that has a clock."""
    for target in summary.targets:
        if target.time:
            yield "time", f"{_cpu(target)}: {target.time.text}" if len(summary.targets) > 1 else target.time.text


def _memory(summary: FileSummary) -> str:
    """Constants, arena and scratch; numbers that differ between targets name these."""
    arena = "arena unknown" if summary.arena is None else f"arena at least {summary.arena:,}"
    taken = [(target.arena_used, target.arena_needed) for target in summary.targets]
    if any(used is not None for used, _ in taken):
        arena = f"arena {_each(summary, [_taken(*one) for one in taken])}"
    constants = _each(summary, [target.constants for target in summary.targets])
    scratch = _each(summary, [target.scratch for target in summary.targets])
    return f"constants {constants}; {arena}; scratch {scratch} bytes"


def _taken(used: int | None, needed: int | None) -> str:
    """Bytes used, `100,708`; with the bytes to be given, where they are more."""
    if used is None or needed is None:
        return "unknown"
    return f"{used:,} ({needed:,} to be given)" if needed > used else f"{used:,}"


def _each(summary: FileSummary, numbers: Sequence[int | str]) -> str:
    texts = [number if isinstance(number, str) else f"{number:,}" for number in numbers]
    if len(set(texts)) == 1:
        return texts[0]
    return ", ".join(f"{text} on {_cpu(target)}" for text, target in zip(texts, summary.targets, strict=True))
