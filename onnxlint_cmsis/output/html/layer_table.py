"""The layers: a row for each, equal ones folded; a column for each target, equal ones folded too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.verdict_text import cpu_of
from onnxlint_cmsis.ground.findings import Effect, Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.output.html.report_input import MOST, ReportInput
from onnxlint_cmsis.output.layer_words import cost_of, kernel_of, mark_of, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnxlint_cmsis.analysis.layers import LayerReport


COLORS = 8
"""Colours of kernels; further kernels share one more, and every layer names its kernel."""
KINDS = {"!": "hazard", "~": "reference", "x": "refused", "?": "undecided", " ": ""}
"""Class of the style sheet for each mark of a layer."""


class Cell(NamedTuple):
    """What becomes of the layers of a row on the targets of a column."""

    kernel: str
    """Kernel that does the work, or the verdict."""
    color: int
    """Number of the kernel's colour."""
    kind: str
    """One of KINDS."""
    cost: str
    """Predicted instructions (not cycles) of one layer as text."""
    instructions: int | None
    """The same as a number, where there is one."""
    ends: tuple[int, int] | None
    """Least and most of it; None where they are unknown."""
    time: str
    """Predicted time of one layer; empty where it is not known."""
    findings: tuple[int, ...]
    """Numbers of the findings on the layer."""
    remark: str
    """What is the matter, where no finding tells it."""
    told: tuple[int, ...] = ()
    """Those of the findings that a row above has."""


class LayerRow(NamedTuple):
    """Layers that are the same in every column."""

    layers: tuple[LayerReport, ...]
    """Them, on the first target."""
    cells: tuple[Cell, ...]
    """A cell for each column."""


class KernelShare(NamedTuple):
    """All layers of known cost that one kernel computes."""

    color: int
    """Number of its colour."""
    layers: int
    """How many layers."""
    instructions: int
    """Their predicted instructions."""


class LayerColumn(NamedTuple):
    """Targets on which every layer is the same."""

    cpus: str
    """`cortex-m4, cortex-m33`."""
    every: int
    """All known instructions, or 1."""
    longest: int
    """Most instructions that a row may take, or 1."""
    kernels: Mapping[str, KernelShare]
    """Kernels by name, the one with the most instructions first."""


class LayerTable(NamedTuple):
    """Layers of a model on all targets."""

    columns: tuple[LayerColumn, ...]
    """Targets."""
    rows: tuple[LayerRow, ...]
    """Layers in file order, at most MOST rows."""
    left_out: int
    """Rows that are not shown."""

    @property
    def partly(self) -> bool:
        """Tell whether the cost of a layer is no single number, so that shares are of the others."""
        return any(cell.instructions is None for row in self.rows for cell in row.cells)

    @property
    def timed(self) -> bool:
        """Tell whether the time of a layer is known."""
        return any(cell.time for row in self.rows for cell in row.cells)

    @property
    def legend(self) -> list[tuple[str, int, str]]:
        """Each kernel of known cost, the number of its colour, and its share in each column, `89.0 / 87.1 %`."""
        names = dict.fromkeys(kernel for column in self.columns for kernel in column.kernels)
        none = KernelShare(COLORS, 0, 0)
        legend = []
        for name in names:
            shares = [(column.kernels.get(name, none), column.every) for column in self.columns]
            parts = " / ".join(f"{100 * share.instructions / every:.1f}" for share, every in shares)
            legend.append((name, min(share.color for share, _ in shares), f"{parts} %"))
        return legend


def layer_table(given: ReportInput, findings: Sequence[Finding], colors: Mapping[str, int]) -> LayerTable:
    """All layers; operators of a `.tflite` file that only copy bytes are none."""
    reports = [layer for layer in given.version.layers.layers if layer.computes]
    beside: dict[str, list[tuple[int, Finding]]] = {}
    for number, finding in enumerate(findings):
        for member in (finding, *finding.others):
            beside.setdefault(member.location.node, []).append((number, member))
    by_target: dict[str, list[LayerReport]] = {}
    for layer in reports:
        by_target.setdefault(layer.target, []).append(layer)
    columns: dict[tuple[Cell, ...], list[str]] = {}
    for target, layers in by_target.items():
        columns.setdefault(tuple(_cell(layer, beside, colors) for layer in layers), []).append(target)
    rows: dict[object, list[LayerReport]] = {}
    for layer, *cells in zip(next(iter(by_target.values()), ()), *columns, strict=True):
        rows.setdefault((layer.op, layer.input, layer.output, tuple(cells)), []).append(layer)
    folded = _told_once([LayerRow(tuple(layers), key[-1]) for key, layers in rows.items()])  # type: ignore[index]
    heads = tuple(_column(number, cpus, folded) for number, cpus in enumerate(columns.values()))
    return LayerTable(heads, tuple(folded[:MOST]), max(0, len(folded) - MOST))


def _told_once(rows: list[LayerRow]) -> list[LayerRow]:
    """The rows, each of which knows the findings that stand in its column above."""
    above: dict[int, set[int]] = {}
    told = []
    for row in rows:
        cells = []
        for column, cell in enumerate(row.cells):
            seen = above.setdefault(column, set())
            cells.append(cell._replace(told=tuple(number for number in cell.findings if number in seen)))
            seen.update(cell.findings)
        told.append(row._replace(cells=tuple(cells)))
    return told


def _cell(layer: LayerReport, beside: Mapping[str, list[tuple[int, Finding]]], colors: Mapping[str, int]) -> Cell:
    kernel, mark = kernel_of(layer), mark_of(layer)
    on_it = [item for item in beside.get(layer.node, ()) if layer.target in item[1].targets or not item[1].targets]
    told = any(finding.effect.rank <= Effect.REFERENCE.rank for _, finding in on_it)
    hazards = f"known error or wrong result: {', '.join(layer.hazards)}" if layer.hazards else ""
    remark = "" if told else hazards or reason_of(layer)
    numbers = tuple(dict.fromkeys(number for number, _ in on_it))
    return Cell(
        kernel,
        colors.get(kernel, COLORS),
        KINDS[mark],
        cost_of(layer),
        layer.instructions,
        layer.ends,
        layer.time.amount if layer.time else "",
        numbers,
        remark,
    )


def _column(number: int, targets: Iterable[str], rows: Iterable[LayerRow]) -> LayerColumn:
    kernels: dict[str, KernelShare] = {}
    totals, most = [0], [0]
    for row in rows:
        cell, layers = row.cells[number], len(row.layers)
        most.append(layers * cell.ends[1] if cell.ends else 0)
        if cell.instructions is not None:
            totals.append(layers * cell.instructions)
            share = kernels.get(cell.kernel, KernelShare(cell.color, 0, 0))
            kernels[cell.kernel] = KernelShare(cell.color, share.layers + layers, share.instructions + totals[-1])
    ranked = dict(sorted(kernels.items(), key=lambda item: -item[1].instructions))
    return LayerColumn(", ".join(map(cpu_of, targets)), sum(totals) or 1, max(most) or 1, ranked)


def kernel_colors(layers: Iterable[LayerReport]) -> dict[str, int]:
    """A number for each kernel, those with the most instructions over all targets first."""
    cost: Counter[str] = Counter()
    for layer in layers:
        if layer.kernel:
            cost[kernel_of(layer)] += layer.instructions or 0
    ranked = sorted(cost, key=lambda kernel: (-cost[kernel], kernel))
    return {kernel: min(position, COLORS) for position, kernel in enumerate(ranked)}
