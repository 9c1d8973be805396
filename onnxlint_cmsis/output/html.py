"""The page that `report` writes: figures, layers, the arena and the graph, as records and drawings in a template."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.grouped import brief_text, grouped
from onnxlint_cmsis.analysis.short_names import WIDEST, cut
from onnxlint_cmsis.analysis.verdict_text import cpu_of, lines_of
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.dims import dims_of
from onnxlint_cmsis.lower.layout_copies import MAY_GO
from onnxlint_cmsis.output.comparison import difference
from onnxlint_cmsis.output.comparison_text import cost_text as cost_change
from onnxlint_cmsis.output.comparison_text import figure_rows, kernels_text, layer_name, verdict_text
from onnxlint_cmsis.output.concise import STYLES
from onnxlint_cmsis.output.fixes import cost_text
from onnxlint_cmsis.output.full import explanation, what_to_do
from onnxlint_cmsis.output.layers import (
    HOSTS,
    HostTable,
    cost_of,
    host_table,
    kernel_of,
    mark_of,
    reason_of,
    sizes_text,
)
from onnxlint_cmsis.output.plain import counted, markup
from onnxlint_cmsis.output.run import in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import jinja2

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.dimensions import DimensionClass
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.analysis.results import FileSummary, TargetSummary
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.output.comparison import ModelDifference, ModelVersion
    from onnxlint_cmsis.runtimes.runtime import Arena, BufferLife, MemoryReport


MOST = 600
"""Rows, buffers and classes that one drawing shows: more make the page slow."""


class ReportInput(NamedTuple):
    """One version of a model."""

    version: ModelVersion
    """Its findings and layers."""
    model: ModelAnalysis
    """Its graph, classes and layers' verdicts."""
    memory: tuple[MemoryReport, ...]
    """What `memory` tells, for each target."""

    @property
    def names(self) -> Mapping[str, str]:
        """Short forms of names, for people."""
        return self.version.layers.names


# The figures of the summary, each once, with the targets where these differ.


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


def figures(summary: FileSummary | None) -> tuple[Figure, ...]:
    """Every figure, equal ones of several targets once."""
    if summary is None:
        return ()
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


# The layers: a row for each, equal ones folded; a column for each target, equal ones folded too.


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
    findings: tuple[int, ...]
    """Numbers of the findings on the layer."""
    remark: str
    """What is the matter, where no finding tells it."""


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
    """Known instructions of the row with the most, or 1."""
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
        """Whether the cost of a layer is no single number, so that shares are of the others."""
        return any(cell.instructions is None for row in self.rows for cell in row.cells)

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
    folded = [LayerRow(tuple(layers), key[-1]) for key, layers in rows.items()]  # type: ignore[index]
    heads = tuple(_column(number, cpus, folded) for number, cpus in enumerate(columns.values()))
    return LayerTable(heads, tuple(folded[:MOST]), max(0, len(folded) - MOST))


def _cell(layer: LayerReport, beside: Mapping[str, list[tuple[int, Finding]]], colors: Mapping[str, int]) -> Cell:
    kernel, mark = kernel_of(layer), mark_of(layer)
    on_it = [item for item in beside.get(layer.node, ()) if layer.target in item[1].targets or not item[1].targets]
    told = any(finding.effect.rank <= Effect.REFERENCE.rank for _, finding in on_it)
    hazards = f"known error or wrong result: {', '.join(layer.hazards)}" if layer.hazards else ""
    remark = "" if told else hazards or reason_of(layer)
    numbers = tuple(dict.fromkeys(number for number, _ in on_it))
    return Cell(kernel, colors.get(kernel, COLORS), KINDS[mark], cost_of(layer), layer.instructions, numbers, remark)


def _column(number: int, targets: Iterable[str], rows: Iterable[LayerRow]) -> LayerColumn:
    """The sums of a column."""
    kernels: dict[str, KernelShare] = {}
    totals = [0]
    for row in rows:
        cell, layers = row.cells[number], len(row.layers)
        if cell.instructions is not None:
            totals.append(layers * cell.instructions)
            share = kernels.get(cell.kernel, KernelShare(cell.color, 0, 0))
            kernels[cell.kernel] = KernelShare(cell.color, share.layers + layers, share.instructions + totals[-1])
    ranked = dict(sorted(kernels.items(), key=lambda item: -item[1].instructions))
    return LayerColumn(", ".join(map(cpu_of, targets)), sum(totals) or 1, max(totals) or 1, ranked)


def kernel_colors(layers: Iterable[LayerReport]) -> dict[str, int]:
    """A number for each kernel, those with the most instructions over all targets first."""
    cost: Counter[str] = Counter()
    for layer in layers:
        if layer.kernel:
            cost[kernel_of(layer)] += layer.instructions or 0
    ranked = sorted(cost, key=lambda kernel: (-cost[kernel], kernel))
    return {kernel: min(position, COLORS) for position, kernel in enumerate(ranked)}


# Before and after.


class ComparedPage(NamedTuple):
    """What changed since the version before."""

    difference: ModelDifference
    """All of it."""
    figures: tuple[tuple[str, str, str], ...]
    """What each figure counts, its CPUs, both numbers."""
    layers: tuple[ChangedLayer, ...]
    """Layers that changed, at most MOST."""
    left_out: int
    """Changed layers that are not shown."""


class ChangedLayer(NamedTuple):
    """A layer that is new, gone, or has another kernel or cost, on targets where it is the same."""

    name: str
    """Its name; both where the versions have two."""
    cpus: tuple[str, ...]
    """Targets."""
    kernel: str
    """Kernels before and after, once where both are the same; with `new` or `gone` where one version has the layer."""
    cost: str
    """Predicted instructions before and after."""
    bars: tuple[tuple[str, int, float | None], ...]
    """Title, colour and length of the bars before and after, all on one scale."""


def _compared(compared: ModelDifference, colors: Mapping[str, int]) -> ComparedPage:
    sides = [side for changed in compared.layers for side in (changed.before, changed.after) if side]
    longest = max((side.instructions or 0 for side in sides), default=0) or 1
    rows: dict[ChangedLayer, list[str]] = {}
    for changed in compared.layers:
        pair = [("before", changed.before), ("after", changed.after)]
        bars = tuple(
            (f"{when}: {side.cost}", colors.get(kernel_of(side), COLORS), _part(side.instructions, longest))
            for when, side in pair
            if side
        )
        kernels, cost = kernels_text(changed, "->"), cost_change(changed, "->")
        row = ChangedLayer(layer_name(changed, compared.names), (), kernels, cost, bars)
        rows.setdefault(row, []).append(cpu_of(changed.target))
    layers = tuple(row._replace(cpus=tuple(cpus)) for row, cpus in rows.items())
    verdicts = (("verdict", ", ".join(pair.targets), verdict_text(pair, "->")) for pair in compared.verdicts)
    numbers = (row[:3] for row in figure_rows(compared, lambda name: f"'{compared.names.get(name, name)}'"))
    return ComparedPage(compared, (*verdicts, *numbers), layers[:MOST], max(0, len(layers) - MOST))


def _part(instructions: int | None, longest: int) -> float | None:
    return None if instructions is None else instructions / longest


# The layers of a model with their connections and the classes of their channels.


NAMED = 6
"""Layers that the table of classes names; the drawing shows all."""


class GraphRow(NamedTuple):
    """A layer, or an input of the model, in the drawing."""

    name: str
    """Name in the file."""
    op: str
    """Operator; `input` for an input of the model."""
    shape: str
    """Sizes of what it makes, `48x48x8`."""
    reads: tuple[int, ...]
    """Rows whose results it reads."""
    classes: tuple[DimensionClass, ...]
    """Classes of the channels that it makes."""


def graph_rows(given: ReportInput) -> tuple[GraphRow, ...]:
    """Inputs and layers in file order, at most MOST; nodes that compute nothing are part of the connections."""
    model, outputs = given.model, {layer.node: layer.output for layer in given.version.layers.layers}
    records = model.lowered.records[:MOST]
    sources = _Sources(model, records)
    rows = [
        GraphRow(name, "input", sizes_text(*dims_of(model.graph, name)), (), _classes(model, name))
        for name in sources.inputs
    ]
    for record in records:
        node = record.node
        tensor = record.epilogue.tensor if record.epilogue else "".join(node.outputs[:1])
        op = " + ".join((node.op_type, *(fused.op_type for fused in record.fused)))
        shape = sizes_text(outputs.get(node.label, (None,)))
        rows.append(GraphRow(node.label, op, shape, sources.read_by(record), _classes(model, tensor)))
    return tuple(rows)


class _Sources:
    """Which row makes what a layer reads, seen through nodes that compute nothing."""

    def __init__(self, model: ModelAnalysis, records: tuple[LoweredLayer, ...]) -> None:
        self._graph = model.graph
        self.inputs = [name for name in model.graph.inputs if name not in model.graph.constants]
        self._rows = {name: number for number, name in enumerate(self.inputs)}
        self._nodes: dict[int, int] = {}
        for number, record in enumerate(records, len(self.inputs)):
            for node in (record.node, *record.fused):
                self._nodes[node.index] = number

    def read_by(self, record: LoweredLayer) -> tuple[int, ...]:
        """Rows that a layer reads, each once; constants and tensors of layers that are not drawn are left out."""
        rows: set[int] = set()
        here = self._nodes[record.node.index]
        waiting, seen = list(record.node.inputs), set(record.node.inputs)
        while waiting:
            tensor = waiting.pop()
            node = self._graph.producers.get(tensor)
            row = self._rows.get(tensor) if node is None else self._nodes.get(node.index)
            if row is not None:
                rows.add(row)
            elif node is not None:
                behind = {*node.reads} - seen
                seen |= behind
                waiting += behind
        return tuple(sorted(rows - {here}))


def _classes(model: ModelAnalysis, tensor: str) -> tuple[DimensionClass, ...]:
    """Classes on any axis of a tensor, in order, each once."""
    axes = model.dimensions.axes(tensor) or ()
    leaves = [leaf for axis in range(len(axes)) for leaf in model.dimensions.leaves(tensor, axis)]
    groups = map(model.dimensions.class_with_id, dict.fromkeys(leaves))
    return tuple(group for group in groups if group is not None)


# Predicted instructions as node data for Model Explorer (ai-edge-model-explorer 0.1.34, node_data_builder.py).


GRADIENT = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f28c28"})
"""Colours from the fewest instructions to the most."""
HAZARD = {"bgColor": "#b3261e", "textColor": "#ffffff"}
"""A layer with a known error or wrong result."""


def node_data(given: ReportInput) -> dict[str, object]:
    """`GraphNodeData` of the first target: a value for each layer of known cost, by the first tensor that it makes."""
    target = given.model.settings.targets[0]
    tensors = {record.node.label: record.node.outputs[0] for record in given.model.lowered.records}
    results: dict[str, dict[str, object]] = {}
    for layer in given.version.layers.layers:
        known = layer.computes and layer.instructions is not None
        if known and layer.target == target.label and layer.node in tensors:
            results[tensors[layer.node]] = {"value": layer.instructions, **(HAZARD if layer.hazards else {})}
    name = f"predicted instructions, {target.label}; red: known error or wrong result"
    return {"results": results, "name": name, "gradient": list(GRADIENT)}


# Bars: the length of one row, and the shares of all kernels in one line.


SEEN = 0.004
"""Part of the line below which a bar would not be seen."""


def bar(title: str, color: int, length: float | None) -> str:
    """A bar as long as its part of the longest one; an empty frame where there is no length."""
    shape = '<rect class="unknown" x="0.5" y="0.5" width="99%" height="11"/>'
    if length is not None:
        shape = f'<rect class="q{color}" width="{100 * max(length, SEEN):.2f}%" height="12"/>'
    return f'<svg class="bar" width="100%" height="12" role="img"><title>{markup(title)}</title>{shape}</svg>'


def kernel_bar(column: LayerColumn) -> str:
    """One line, divided among the kernels of a column."""
    parts, left = [], 0.0
    for kernel, share in column.kernels.items():
        part = 100 * share.instructions / column.every
        title = (
            f"{kernel}: {counted(share.layers, 'layer')}, {share.instructions:,} predicted instructions, {part:.1f} %"
        )
        parts.append(
            f'<rect class="q{share.color} part" x="{left:.2f}%" width="{part:.2f}%" height="20">'
            f"<title>{markup(title)}</title></rect>"
        )
        left += part
    title = "<title>Predicted instructions of each kernel</title>"
    return f'<svg class="bar" width="100%" height="20" role="img">{title}{"".join(parts)}</svg>'


# The arena over time: steps to the right, addresses upwards, each buffer a rectangle.


HIGH, FOOT = 200, 18
"""Pixels of the map, and of the words below it."""
ROOM = 7.0
"""Pixels of a character, for names that stand in their rectangles."""
NARROW = 300
"""Pixels of the map on the narrowest screen: names that do not fit there are left out."""


def memory_svg(arena: Arena, names: Mapping[str, str]) -> str:
    """The map as SVG that takes the width of its place."""
    peak, steps = arena.peak, len(arena.alive)
    at = 100 * (peak + 0.5) / steps
    anchor = "start" if at < 35 else "end" if at > 65 else "middle"
    label = f"peak: step {peak}, {arena.alive[peak]:,} bytes"
    title = f"Arena over time: {arena.alive[peak]:,} bytes alive at the peak, in step {peak}"
    return "".join(
        (
            f'<svg class="memory" width="100%" height="{HIGH + FOOT}" role="img"><title>{title}</title>',
            *(_rectangle(arena, buffer, names) for buffer in arena.plan),
            f'<line class="peak-line" x1="{at:.3f}%" x2="{at:.3f}%" y1="0" y2="{HIGH + 4}"/>',
            f'<text x="{at:.3f}%" y="{HIGH + FOOT - 3}" text-anchor="{anchor}">{label}</text>',
            f'<line class="axis" x1="0" x2="100%" y1="{HIGH}" y2="{HIGH}"/>',
            "</svg>",
        )
    )


def _rectangle(arena: Arena, buffer: BufferLife, names: Mapping[str, str]) -> str:
    name, layer = (names.get(text, text) for text in (buffer.name, buffer.node))
    left, wide = buffer.first / len(arena.alive), (buffer.last - buffer.first + 1) / len(arena.alive)
    high = HIGH * buffer.bytes / arena.head
    top = HIGH - HIGH * (buffer.offset + buffer.bytes) / arena.head
    when = f"steps {buffer.first} to {buffer.last}, at {buffer.offset:,}"
    writer = f", written by {layer}" if layer else ""
    title = markup(f"{name}{writer}: {buffer.bytes:,} bytes, {when}")
    kind = "buffer peak" if buffer.first <= arena.peak <= buffer.last else "buffer"
    shape = f'x="{100 * left:.3f}%" y="{top:.1f}" width="{100 * wide:.3f}%" height="{max(high, 1):.1f}"'
    text = ""
    if high >= 16 and wide * NARROW >= ROOM * len(name) + 8:
        position = f'x="{100 * (left + wide / 2):.3f}%" y="{top + high / 2 + 4:.1f}"'
        text = f'<text class="inside" {position} text-anchor="middle">{markup(name)}</text>'
    return f'<rect class="{kind}" {shape}><title>{title}</title></rect>{text}'


# Connections beside the rows of the graph, one drawing for each row: a dot for the layer, a lane for each long way.


LANES = 10
"""Lanes side by side; connections beyond share the last one."""
STEP, DOT = 11, 18
"""Pixels between lanes, and from the top of a row to its dot."""


class Way(NamedTuple):
    """A tensor as it is drawn, from the row that makes it to rows that read it."""

    source: int
    """Row that makes it."""
    readers: tuple[int, ...]
    """Rows that read it, in order, each once."""
    lane: int
    """0 for one that ends in the next row, else how far left it runs."""


def ways(rows: Sequence[GraphRow]) -> tuple[Way, ...]:
    """Lanes for all connections; one that only leads to the next row needs none."""
    ends: list[int] = []
    drawn = []
    for source in range(len(rows)):
        readers = tuple(number for number, row in enumerate(rows) if source in row.reads and number > source)
        if readers[:1] == (source + 1,):
            drawn.append(Way(source, readers[:1], 0))
        if far := tuple(reader for reader in readers if reader > source + 1):
            lane = next((number for number, end in enumerate(ends) if end <= source), len(ends))
            ends[lane : lane + 1] = [far[-1]]
            drawn.append(Way(source, far, 1 + min(lane, LANES - 1)))
    return tuple(drawn)


def rail_width(drawn: Iterable[Way]) -> int:
    """Pixels that the connections take."""
    return 2 * STEP + STEP * max((way.lane for way in drawn), default=0)


def rail_svg(drawn: Sequence[Way], rows: Sequence[GraphRow], number: int, names: Mapping[str, str]) -> str:
    """The drawing beside a row."""
    width = rail_width(drawn)
    reads = ", ".join(names.get(rows[reader].name, rows[reader].name) for reader in rows[number].reads)
    title = f"{names.get(rows[number].name, rows[number].name)} reads {reads or 'nothing that is drawn'}"
    passing = (way for way in drawn if way.source <= number <= way.readers[-1])
    parts = "".join(part for way in passing for part in _way(way, number, width - STEP, rows[way.source].classes))
    dot = f'<circle class="dot" cx="{width - STEP}" cy="{DOT}" r="4"/>'
    head = f'<svg class="rail" width="{width}" height="100%" role="img"><title>{markup(title)}</title>'
    return f"{head}{parts}{dot}</svg>"


def _way(way: Way, row: int, across: int, classes: Sequence[DimensionClass]) -> Iterator[str]:
    """What a connection draws in one row, in the look of the first class of its channels."""
    kind = " ".join(("edge", *(classes[0].freedom.value.lower() for _ in classes[:1]), *(f"k{c.id}" for c in classes)))
    title = f"<title>{markup('; '.join(map(class_words, classes)) or 'no channel class')}</title>"

    def line(x: int, top: str, bottom: str) -> str:
        return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}">{title}</line>'

    lane, first, last = across - STEP * way.lane, way.source, way.readers[-1]
    if way.lane == 0:
        yield line(across, str(DOT), "100%") if row == first else line(across, "0", str(DOT))
        return
    if row == first:
        yield f'<path class="{kind}" d="M{across} {DOT}Q{lane} {DOT} {lane} {DOT + 12}">{title}</path>'
        yield line(lane, str(DOT + 12), "100%")
    elif row in way.readers:
        yield f'<path class="{kind}" d="M{lane} 4Q{lane} {DOT} {across} {DOT}">{title}</path>'
    if first < row:
        yield line(lane, "0", "100%" if row < last else "5")


def class_words(group: DimensionClass) -> str:
    """`#3 COUPLED, 16 channels`."""
    return f"#{group.id} {group.freedom.value}, {group.size} channels"


# The page: all of it in the template, with a policy that lets nothing in from outside.


TEMPLATES = Path(__file__).parent / "templates"
POLICY = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: the page's own style sheet and script, and nothing else."""


def render_page(given: ReportInput, against: ReportInput | None = None) -> str:
    """The page of a model; `against` is the version before. Raises UsageError without jinja2."""
    require_jinja2()
    environment = _environment()
    from markupsafe import Markup

    def called(name: str) -> str:
        return names.get(name) or cut(name, WIDEST)

    result, names, graph = given.version.result, given.names, graph_rows(given)
    versions = [(version, when) for version, when in ((against, "before"), (given, "after")) if version]
    colors = kernel_colors(layer for version, _ in versions for layer in version.version.layers.layers)
    findings, drawn, classes = grouped(result.told), ways(graph), given.model.dimensions.classes[:MOST]
    table = layer_table(given, findings, colors)
    style = _style(len(table.columns), rail_width(drawn), classes)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    hashes = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    return environment.get_template("report.html.j2").render(
        title=Path(given.model.path).name,
        path=given.version.name,
        version=__version__,
        policy=POLICY.format(*hashes),
        style=Markup(style),
        script=Markup(script),
        verdicts=[(line.verdicts[0].word, line.text(names)) for line in lines_of(result.verdicts)],
        styles=STYLES,
        notes=result.notes,
        findings=findings,
        quiet=[
            finding for finding in findings if finding.level is Level.NOTE and not (finding.decides or finding.asks)
        ],
        targets=[target.label for target in given.model.settings.targets],
        boundary=given.version.layers.boundary,
        figures=figures(result.summary),
        layers=table,
        desktop=_desktop(given.model),
        desktop_title=HOSTS,
        maps=[entry for version, when in versions for entry in _maps(version, when if against else "")],
        application=_application(given),
        graph=graph,
        undrawn=max(0, len(given.model.lowered.records) - MOST),
        classes=classes,
        compared=_compared(difference(against.version, given.version), colors) if against else None,
        names=names,
        most=MOST,
        numbered=lambda items: [*enumerate(items)],
        called=called,
        first=lambda layers: _first(called(layer.label) for layer in layers),
        cpus=lambda labels: ", ".join(map(cpu_of, labels)),
        short=lambda text: in_short(text, names),
        brief=brief_text,
        what_to_do=what_to_do,
        explanation=explanation,
        class_words=class_words,
        sizes=sizes_text,
        bar=lambda *given: Markup(bar(*given)),
        kernel_bar=lambda column: Markup(kernel_bar(column)),
        memory_svg=lambda *given: Markup(memory_svg(*given)),
        rail=lambda number: Markup(rail_svg(drawn, graph, number, names)),
    )


def _desktop(model: ModelAnalysis) -> HostTable | None:
    """What the layers may be off in runtimes of a desktop; None where no layer has a bound, as in a float model."""
    hosts = model.against_hosts
    bounds = [layer.bound.steps for comparison in hosts for layer in comparison.layers]
    return None if all(steps is None for steps in bounds) else host_table(hosts)


def _style(columns: int, rails: int, classes: Iterable[DimensionClass]) -> str:
    """The style sheet, with what depends on the page.

    That is the width below which the columns of layers do not fit side by side, room for connections, and rules that
    show all members of a channel class at which somebody points.
    """
    marks = (f".k{group.id}" for group in classes)
    shown = "{stroke-width:6;box-shadow:0 0 0 3px currentColor}"
    return "\n".join(
        (
            (TEMPLATES / "report.css").read_text(encoding="utf-8").replace("COLUMNS", str(240 + 220 * columns)),
            f".rows li{{padding-left:{rails}px}}",
            *(f".graph:has({mark}:hover,{mark}:focus-visible) {mark}{shown}" for mark in marks),
        )
    )


def _maps(given: ReportInput, when: str) -> Iterator[tuple[str, MemoryReport, Mapping[str, str]]]:
    """The arenas with the names in them, equal ones of several targets once, under their targets where they differ."""
    groups: dict[object, list[MemoryReport]] = {}
    for report in given.memory:
        drawn = report.arena and (report.arena.plan, report.arena.alive, report.arena.head)
        groups.setdefault((drawn, report.reason), []).append(report)
    for reports in groups.values():
        cpus = ", ".join(cpu_of(report.target) for report in reports) if len(groups) > 1 else ""
        yield f"{cpus} {when}".strip(), reports[0], given.names


def _application(given: ReportInput) -> list[str]:
    """The C++ of an application of TensorFlow Lite Micro, line by line."""
    from onnxlint_cmsis.output.tflm_cpp import application_lines

    exact = given.memory if given.model.interpretation else ()
    return application_lines(given.model.resolver, {part.target: part.arena.to_write for part in exact if part.arena})


def _first(layers: Iterable[str]) -> str:
    """Some of the layers, and how many more there are."""
    every = list(dict.fromkeys(layers))
    return ", ".join(every if len(every) <= NAMED + 1 else [*every[:NAMED], f"{len(every) - NAMED} more"])


def require_jinja2() -> None:
    """Raise UsageError without jinja2."""
    if find_spec("jinja2") is None:
        raise UsageError("the report needs jinja2: pip install 'onnxlint-cmsis[report]'")


@cache
def _environment() -> jinja2.Environment:
    """Where the template is found, compiled once for all pages of a process; `markup` escapes all texts in it."""
    import jinja2
    from markupsafe import Markup

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: Markup(markup(value)) if type(value) is str else value,
    )
