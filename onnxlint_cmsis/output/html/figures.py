"""The figures of the summary, each once, with the targets where these differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layout_copies import MAY_GO
from onnxlint_cmsis.output.plain import counted
from onnxlint_cmsis.output.summaries import cost_text
from onnxlint_cmsis.output.time_words import saving_text, shares_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxlint_cmsis.analysis.results import FileSummary, TargetSummary


class Figure(NamedTuple):
    """One figure of the summary."""

    label: str
    """What it is."""
    cpus: str
    """Targets; empty where it is the same on all."""
    value: str
    """The figure."""
    note: str
    """What else to know about it."""


def figures(summary: FileSummary) -> tuple[Figure, ...]:
    """Every figure, equal ones of several targets once."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for target in summary.targets:
        for figure in _figures(summary, target):
            groups.setdefault(figure, []).append(cpu_of(target.target))
    labels = {label: number for number, (label, _, _) in reversed([*enumerate(groups)])}
    every = len(summary.targets)
    return tuple(
        Figure(label, "" if len(cpus) == every else ", ".join(cpus), value, note)
        for (label, value, note), cpus in sorted(groups.items(), key=lambda group: labels[group[0][0]])
    )


def _figures(summary: FileSummary, target: TargetSummary) -> Iterator[tuple[str, str, str]]:
    shares = {
        "layers in CMSIS-NN": target.cmsis_nn,
        "layers in reference code": target.reference_code,
        "layers without a kernel": target.no_kernel,
        "layers undecided": target.undecided,
    }
    every = sum(share.layers for share in shares.values())
    left = f"; {counted(summary.unknown_macs, 'layer')} of unknown size left out" if summary.unknown_macs else ""
    for label, share in shares.items():
        if share.layers or share is target.cmsis_nn:
            work = f"{share.macs:,} of {summary.macs:,} MACs{left}" if summary.macs else "MACs unknown"
            yield label, f"{share.layers:,} of {every:,}", work
    if summary.copies:
        yield "copies to another memory order", f"{len(summary.copies):,}", MAY_GO
    unknown = f"; {counted(target.unknown_cost, 'layer')} of unknown cost left out" if target.unknown_cost else ""
    if target.cost_known:
        text = f"not cycles; as measured on {target.measured_on}{unknown}"
        yield "predicted instructions", cost_text(target), text
    else:
        yield "predicted instructions", "unknown", "no layer has a known cost"
    if target.time:
        yield "time", target.time.range, target.time.basis if target.time.milliseconds else ""
        if parts := shares_text(target.time):
            yield "the time goes to", parts, saving_text(target.time, cpu_of(target.target))
    if target.arena_used is not None and target.arena_to_write is not None:
        yield "arena", f"{target.arena_to_write:,} bytes", f"the size to write; {target.arena_used:,} are used"
    elif summary.arena is None:
        yield "arena", "unknown", "a size is unknown, or the runtime does not finish its preparation"
    else:
        yield "arena", f"at least {summary.arena:,} bytes", "activations alone"
    held = "weights, biases, multipliers and shifts" if target.arena_used is None else "the file"
    yield "flash", f"{target.flash:,} bytes + code", held
    if target.scratch is None:
        yield "scratch", "unknown", "what an operator asks for is not known"
    else:
        yield "scratch", f"{target.scratch:,} bytes", "largest buffer of one layer"
