"""The section of each target: figures, kernels, layers, memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.html_report.layer_lines import kernel_shares, layer_lines
from onnxlint_cmsis.html_report.memory_maps import memory_map
from onnxlint_cmsis.html_report.page_records import MOST, Fact, TargetSection
from onnxlint_cmsis.lower.layout_copies import MAY_GO
from onnxlint_cmsis.reporters.plain import counted
from onnxlint_cmsis.reporters.summaries import cost_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onnxlint_cmsis.html_report.report_input import ReportInput
    from onnxlint_cmsis.results.file_summary import FileSummary, LayerShare, TargetSummary


def target_sections(given: ReportInput, colors: Mapping[str, int]) -> tuple[TargetSection, ...]:
    """A section for each target; `colors` numbers the kernels' colours."""
    summary = given.version.result.summary
    if summary is None:
        return ()
    return tuple(_section(given, summary, number, colors) for number in range(len(summary.targets)))


def _section(given: ReportInput, summary: FileSummary, number: int, colors: Mapping[str, int]) -> TargetSection:
    target = summary.targets[number]
    lines = layer_lines(given, target, colors)
    return TargetSection(
        target.target,
        tuple(_facts(summary, target)),
        kernel_shares(lines),
        lines[:MOST],
        max(0, len(lines) - MOST),
        memory_map(given, number),
    )


def _facts(summary: FileSummary, target: TargetSummary) -> Iterator[Fact]:
    yield Fact("Layers in CMSIS-NN", f"{target.cmsis_nn.layers:,}", _work(target.cmsis_nn, summary))
    beside = (
        (f"Layers in {summary.beside}", target.plain),
        ("Layers refused", target.refused),
        ("Layers undecided", target.undecided),
    )
    for label, share in beside:
        if share.layers or share is target.refused:
            yield Fact(label, f"{share.layers:,}", _work(share, summary))
    if summary.copies:
        yield Fact("Copies to another memory order", f"{len(summary.copies):,}", MAY_GO)
    unknown = f"; {counted(target.unknown_cost, 'layer')} of unknown cost left out" if target.unknown_cost else ""
    measured = f"as measured on {target.measured_on}"
    cost = cost_text(target) if target.cost_known else "unknown"
    yield Fact("Predicted instructions", cost, f"not cycles; {measured}{unknown}")
    if target.time:
        yield Fact("Time", target.time.range, target.time.basis if target.time.milliseconds else "")
    yield Fact("Flash for constants", f"{target.constants:,} bytes", "weights, biases, multipliers and shifts")
    yield _arena(summary, target)
    yield Fact("Scratch", f"{target.scratch:,} bytes", "largest buffer of one layer")


def _work(share: LayerShare, summary: FileSummary) -> str:
    left = f"; {counted(summary.unknown_macs, 'layer')} of unknown size left out" if summary.unknown_macs else ""
    return f"{share.macs:,} of {summary.macs:,} MACs{left}" if summary.macs else "MACs unknown"


def _arena(summary: FileSummary, target: TargetSummary) -> Fact:
    """Exact for a runtime's file, a lower bound elsewhere."""
    if target.arena_used is not None:
        return Fact(
            "Arena", f"{target.arena_used:,} bytes", f"{target.arena_needed or target.arena_used:,} to be given"
        )
    if summary.arena is None:
        return Fact("Arena", "unknown", "a size is unknown, or the runtime does not finish its preparation")
    return Fact("Arena", f"at least {summary.arena:,} bytes", "activations alone")
