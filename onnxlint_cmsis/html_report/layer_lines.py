"""Layers of a target with kernel, cost and what to look at."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, cast

from onnxlint_cmsis.comparison.comparison_text import cost_of_row
from onnxlint_cmsis.html_report.page_records import KernelShare, LayerLine, Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnxlint_cmsis.html_report.report_input import ReportInput
    from onnxlint_cmsis.layer_rows import Row
    from onnxlint_cmsis.results.file_summary import TargetSummary

COLORS = 8
"""Colours of kernels; further kernels share one more, and every layer names its kernel."""


def kernel_colors(inputs: Iterable[ReportInput]) -> dict[str, int]:
    """A number for each kernel, those with the most instructions over all targets first."""
    cost: Counter[str] = Counter()
    for given in inputs:
        for row in given.version.layers.rows:
            if row["kernel"]:
                cost[_kernel(row)] += cast("int | None", row["instructions"]) or 0
    ranked = sorted(cost, key=lambda kernel: (-cost[kernel], kernel))
    return {kernel: min(place, COLORS) for place, kernel in enumerate(ranked)}


def layer_lines(given: ReportInput, target: TargetSummary, colors: Mapping[str, int]) -> tuple[LayerLine, ...]:
    """The layers of a target in file order."""
    rows = [row for row in shown_rows(given) if row["target"] == target.target]
    missed = _missed(given, target.target)
    costs = [cast("int | None", row["instructions"]) or 0 for row in rows]
    every, longest = sum(costs) or 1, max(costs, default=0) or 1
    beside = _beside(target)
    found = []
    for row, cost in zip(rows, costs, strict=True):
        label = str(row["node"])
        found.append(
            LayerLine(
                given.names.get(label, label),
                str(row["output"]) if "index" in row else label,
                str(row["op"]),
                "" if label in beside else _kernel(row),
                colors.get(_kernel(row), COLORS),
                cast("int | None", row["instructions"]),
                cost_of_row(row),
                cost / every,
                cost / longest,
                tuple(_marks(row, beside.get(label), missed.get(label, ()))),
                str(row["reason"] or ""),
            )
        )
    return tuple(found)


def shown_rows(given: ReportInput) -> list[Row]:
    """Rows of layers; operators of a `.tflite` file that only copy bytes are none."""
    return [row for row in given.version.layers.rows if row.get("layer", True)]


def kernel_shares(lines: Iterable[LayerLine]) -> tuple[KernelShare, ...]:
    """The kernels of known cost, the most expensive first."""
    groups: dict[tuple[str, int], list[LayerLine]] = {}
    for line in lines:
        if line.instructions is not None:
            groups.setdefault((line.kernel, line.color), []).append(line)
    found = [
        KernelShare(*key, len(group), sum(line.instructions or 0 for line in group), sum(line.share for line in group))
        for key, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.instructions))


def _kernel(row: Row) -> str:
    """The kernel that does the work, or who computes the layer."""
    return str(row.get("effective") or row["kernel"] or row["verdict"])


def _beside(target: TargetSummary) -> dict[str, str]:
    """Kind of mark of each layer that CMSIS-NN does not compute."""
    shares = (("plain", target.plain), ("refused", target.refused), ("undecided", target.undecided))
    return {label: kind for kind, share in shares for label in share.nodes}


def _missed(given: ReportInput, target: str) -> dict[str, list[str]]:
    """Kernels that layers miss, by label, as findings say."""
    found: dict[str, list[str]] = {}
    for finding in given.version.result.told:
        if finding.wanted and finding.wanted != finding.taken and target in finding.targets:
            known = found.setdefault(finding.location.node, [])
            known += [finding.wanted] if finding.wanted not in known else []
    return found


def _marks(row: Row, beside: str | None, missed: Iterable[str]) -> Iterator[Mark]:
    hazards = cast("list[str]", row["hazards"])
    if hazards:
        yield Mark("hazard", f"known error or wrong result: {', '.join(hazards)}")
    if beside:
        yield Mark(beside, "undecided" if beside == "undecided" else str(row["verdict"]))
    if not hazards:
        for kernel in missed:
            yield Mark("missed", f"misses {kernel}")
