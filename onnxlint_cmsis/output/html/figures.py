"""The figures of the summary, each once, with the targets where these differ."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.results import FileSummary, TargetSummary
from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.layout_copies import MAY_GO
from onnxlint_cmsis.output.foreign_text import counted
from onnxlint_cmsis.output.summaries import cost_text
from onnxlint_cmsis.output.time_words import saving_text, shares_text


class FigureValue(NamedTuple):
    """A figure on some targets."""

    cpus: str
    """Targets; empty where it is the same on all."""
    value: str
    """The figure."""
    note: str
    """What else to know about it; empty where the next value has the same note."""


class Figure(NamedTuple):
    """One figure of the summary."""

    label: str
    """What it is."""
    values: tuple[FigureValue, ...]
    """Its values, equal ones of several targets once."""


def figures(summary: FileSummary) -> tuple[Figure, ...]:
    """Every figure once."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for target in summary.targets:
        for label, value, note in _figures(summary, target):
            groups.setdefault(label, {}).setdefault((value, note), []).append(cpu_of(target.target))
    every = len(summary.targets)
    rows = []
    for label, values in groups.items():
        following = [note for _, note in [*values][1:]] + [""]
        rows.append(
            Figure(
                label,
                tuple(
                    FigureValue("" if len(cpus) == every else ", ".join(cpus), value, "" if note == after else note)
                    for ((value, note), cpus), after in zip(values.items(), following, strict=True)
                ),
            )
        )
    return tuple(rows)


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
        cpu, _, compilers = target.measured_on.partition(", ")
        measured = f"with {compilers}" if cpu == cpu_of(target.target) and compilers else f"on {target.measured_on}"
        text = f"not cycles; as measured {measured}{unknown}"
        yield "predicted instructions", cost_text(target), text
    else:
        yield "predicted instructions", "unknown", "no layer has a known cost"
    if target.time:
        yield "time", target.time.range, target.time.basis if target.time.milliseconds else ""
        if parts := shares_text(target.time):
            yield "what takes the time", parts, saving_text(target.time, cpu_of(target.target))
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
