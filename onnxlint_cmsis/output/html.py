"""The page that `report` writes: records, bars, rails, memory maps, and the template that shows them."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.results import WIDEST, cut, grouped
from onnxlint_cmsis.analysis.verdict import lines_of
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.findings import MEASURED, targets_text
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.version import __version__
from onnxlint_cmsis.lower.work import MAY_GO
from onnxlint_cmsis.output.comparison import ModelVersion, difference
from onnxlint_cmsis.output.comparison_text import WORDS, kernel_text, layer_name
from onnxlint_cmsis.output.fixes import cost_text
from onnxlint_cmsis.output.full import what_to_do
from onnxlint_cmsis.output.plain import counted, markup, printable
from onnxlint_cmsis.output.run import in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import jinja2

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.classes import DimensionClass
    from onnxlint_cmsis.analysis.layers import LayerReport
    from onnxlint_cmsis.analysis.results import FileSummary, LayerShare, TargetSummary
    from onnxlint_cmsis.ground.findings import Finding
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.output.comparison import Figure, TimePair
    from onnxlint_cmsis.runtimes.runtime import BufferLife, MemoryReport


# What stands on the page, as plain records: text is not escaped yet.


MOST = 600
"""Layers, buffers and classes that one drawing shows: more make the page slow."""


class Mark(NamedTuple):
    """Something to look at in a layer."""

    kind: str
    """`hazard`, `plain`, `refused`, `undecided` or `missed`: a class of the style sheet."""
    text: str
    """What to look at, in words."""


class LayerLine(NamedTuple):
    """One layer on one target."""

    name: str
    """Short name."""
    full_name: str
    """Name in the file; of an operator of a `.tflite` file that of the tensor it writes."""
    op: str
    """Operator."""
    kernel: str
    """Kernel that does the work; empty where CMSIS-NN does not compute the layer, which a mark says."""
    color: int
    """Number of the kernel's colour."""
    instructions: int | None
    """Predicted instructions (not cycles), None where there is no one number."""
    cost: str
    """Predicted instructions as text: a number, a range, or `unknown`."""
    share: float
    """Part of all known instructions of the target, 0 to 1."""
    length: float
    """Part of the longest layer's instructions, 0 to 1."""
    marks: tuple[Mark, ...]
    """What to look at."""
    reason: str
    """Why CMSIS-NN does not compute it; empty where it does."""


class KernelShare(NamedTuple):
    """All layers that one kernel computes on a target."""

    kernel: str
    """Kernel."""
    color: int
    """Number of its colour."""
    layers: int
    """How many layers."""
    instructions: int
    """Their predicted instructions."""
    share: float
    """Part of all, 0 to 1."""


class Fact(NamedTuple):
    """One figure of the summary."""

    label: str
    """What it is."""
    value: str
    """The figure."""
    note: str = ""
    """What else to know about it."""


class DrawnBuffer(NamedTuple):
    """One place in the arena over a time."""

    name: str
    """Short name of the tensor."""
    layer: str
    """Short name of the layer that writes it; empty for an input of the model."""
    bytes: int
    """Its size."""
    first: int
    """First step in which it is alive; 0 is the host in front of the first layer."""
    last: int
    """Last step."""
    offset: int
    """Bytes from the arena's start."""
    at_peak: bool
    """Whether it is alive in the step with the most bytes."""


class MemoryMap(NamedTuple):
    """The arena over time on one target."""

    buffers: tuple[DrawnBuffer, ...]
    """What lies in it."""
    steps: int
    """Steps with the one of the host."""
    bytes: int
    """Size of the planned part."""
    peak_step: int
    """First step with the most bytes alive."""
    peak_bytes: int
    """Bytes alive there."""
    peak_layer: str
    """Layer that runs there; empty where the file does not tell."""
    missing: str = ""
    """Why there is no map; empty where there is."""


class TargetSection(NamedTuple):
    """One target of the page."""

    label: str
    """CPU, release and compiler."""
    facts: tuple[Fact, ...]
    """Figures of the summary."""
    kernels: tuple[KernelShare, ...]
    """Kernels, the one with the most instructions first."""
    layers: tuple[LayerLine, ...]
    """Layers in file order, at most MOST."""
    left_out: int
    """Layers that are not shown."""
    memory: MemoryMap
    """Arena over time."""


class FindingBlock(NamedTuple):
    """A finding as the page tells it."""

    code: str
    """Code of the rule."""
    rule: str
    """Name of the rule."""
    level: str
    """`error`, `warning` or `note`."""
    message: str
    """What is the matter."""
    remedy: str
    """What to do; may be empty."""
    details: tuple[Fact, ...]
    """Targets, kernels, sources, reasons."""


# The graph as the page shows it: rows, connections, classes of channels.


class ChannelClass(NamedTuple):
    """Channel counts that move together."""

    id: int
    """Number."""
    size: int
    """Channels now."""
    freedom: str
    """FREE, COUPLED or LOCKED."""
    deciders: tuple[str, ...]
    """Short names of layers whose weights have it along their output channels, the last entry may count the rest."""
    readers: tuple[str, ...]
    """Short names of layers whose weights have it along their input channels, likewise."""
    locks: tuple[str, ...]
    """Why it may not change."""


class GraphEdge(NamedTuple):
    """A tensor from the row that makes it to rows that read it."""

    source: int
    """Row that makes it."""
    readers: tuple[int, ...]
    """Rows that read it, in order, each once."""
    classes: tuple[int, ...]
    """Classes of its channels."""


class GraphRow(NamedTuple):
    """A layer, or an input of the model, in the drawing."""

    name: str
    """Short name."""
    full_name: str
    """Name in the file."""
    op: str
    """Operator; `input` for an input of the model."""
    shape: str
    """Sizes of what it makes, `48x48x8`."""
    verdict: str
    """Who computes it where CMSIS-NN does not; empty for a layer of CMSIS-NN and for an input."""
    reads: tuple[int, ...]
    """Rows whose results it reads."""
    classes: tuple[int, ...]
    """Classes of the channels that it makes."""


class GraphDrawing(NamedTuple):
    """The layers of a model with their connections and channel classes."""

    rows: tuple[GraphRow, ...]
    """Inputs, then layers in file order, at most MOST."""
    edges: tuple[GraphEdge, ...]
    """Connections."""
    classes: tuple[ChannelClass, ...]
    """Classes of channels, at most MOST."""
    left_out: int
    """Layers that are not shown."""


# Before and after as the page shows them.


class FigurePair(NamedTuple):
    """One figure before and after."""

    label: str
    """What it counts and where."""
    before: str
    """Figure of the first version."""
    after: str
    """Figure of the second."""
    change: str
    """Difference, empty where there is none."""
    trend: str
    """`less`, `more` or `same`: a class of the style sheet."""


class ChangedLayer(NamedTuple):
    """A layer that is new, gone, or has another kernel or cost."""

    name: str
    """Short name."""
    target: str
    """CPU."""
    before: Fact
    """Kernel and cost before."""
    after: Fact
    """Kernel and cost after."""


class ComparedPage(NamedTuple):
    """Before and after."""

    before: str
    """Name of the first version."""
    after: str
    """Name of the second."""
    figures: tuple[FigurePair, ...]
    """Figures of both."""
    came: tuple[FindingBlock, ...]
    """New findings."""
    went: tuple[FindingBlock, ...]
    """Findings that are gone."""
    stayed: int
    """Findings that both have."""
    layers: tuple[ChangedLayer, ...]
    """Layers that changed, at most MOST."""
    left_out: int
    """Changed layers that are not shown."""
    sections: tuple[tuple[TargetSection | None, TargetSection | None], ...]
    """Both versions on each target."""


# Layers of a target with kernel, cost and what to look at.


COLORS = 8
"""Colours of kernels; further kernels share one more, and every layer names its kernel."""


def kernel_colors(inputs: Iterable[ReportInput]) -> dict[str, int]:
    """A number for each kernel, those with the most instructions over all targets first."""
    cost: Counter[str] = Counter()
    for given in inputs:
        for layer in given.version.layers.layers:
            if layer.kernel:
                cost[layer.computed_by] += layer.instructions or 0
    ranked = sorted(cost, key=lambda kernel: (-cost[kernel], kernel))
    return {kernel: min(position, COLORS) for position, kernel in enumerate(ranked)}


def layer_lines(given: ReportInput, target: TargetSummary, colors: Mapping[str, int]) -> tuple[LayerLine, ...]:
    """The layers of a target in file order."""
    layers = [layer for layer in shown_layers(given) if layer.target == target.target]
    missed = _missed(given, target.target)
    costs = [layer.instructions or 0 for layer in layers]
    every, longest = sum(costs) or 1, max(costs, default=0) or 1
    shares = (("plain", target.plain), ("refused", target.refused), ("undecided", target.undecided))
    beside = {label: kind for kind, share in shares for label in share.nodes}
    return tuple(
        LayerLine(
            given.names.get(layer.node, layer.node),
            layer.tensor if layer.operator else layer.node,
            layer.op,
            "" if layer.node in beside else layer.computed_by,
            colors.get(layer.computed_by, COLORS),
            layer.instructions,
            layer.cost,
            cost / every,
            cost / longest,
            tuple(_marks(layer, beside.get(layer.node), missed.get(layer.node, ()))),
            layer.reason,
        )
        for layer, cost in zip(layers, costs, strict=True)
    )


def shown_layers(given: ReportInput) -> list[LayerReport]:
    """The layers; operators of a `.tflite` file that only copy bytes are none."""
    return [layer for layer in given.version.layers.layers if layer.computes]


def kernel_shares(lines: Iterable[LayerLine]) -> tuple[KernelShare, ...]:
    """The kernels of known cost, the most expensive first."""
    groups: dict[tuple[str, int], list[LayerLine]] = {}
    for line in lines:
        if line.instructions is not None:
            groups.setdefault((line.kernel, line.color), []).append(line)
    shares = [
        KernelShare(*key, len(group), sum(line.instructions or 0 for line in group), sum(line.share for line in group))
        for key, group in groups.items()
    ]
    return tuple(sorted(shares, key=lambda share: -share.instructions))


def _missed(given: ReportInput, target: str) -> dict[str, list[str]]:
    """Kernels that layers miss, by label, as findings say."""
    codes: dict[str, list[str]] = {}
    for finding in given.version.result.told:
        if finding.wanted and finding.wanted != finding.taken and target in finding.targets:
            known = codes.setdefault(finding.location.node, [])
            known += [finding.wanted] if finding.wanted not in known else []
    return codes


def _marks(layer: LayerReport, beside: str | None, missed: Iterable[str]) -> Iterator[Mark]:
    if layer.hazards:
        yield Mark("hazard", f"known error or wrong result: {', '.join(layer.hazards)}")
    if beside:
        yield Mark(beside, "undecided" if beside == "undecided" else layer.verdict.value)
    if not layer.hazards:
        for kernel in missed:
            yield Mark("missed", f"misses {kernel}")


# Findings as the page tells them.


PROPERTIES = ("option", "runtime", "sizes", "why", "known")
"""Properties that are sentences for people."""


def all_findings(findings: Sequence[Finding], names: Mapping[str, str]) -> tuple[FindingBlock, ...]:
    """Findings of one group as one, the worst first."""
    return finding_blocks(grouped(findings), names)


def finding_blocks(findings: Iterable[Finding], names: Mapping[str, str]) -> tuple[FindingBlock, ...]:
    """A block for each finding, names in their short forms."""
    return tuple(
        FindingBlock(
            finding.selector,
            finding.name,
            finding.level.name.lower(),
            in_short(finding.message, names),
            in_short(what_to_do(finding), names),
            tuple(Fact(label, in_short(text, names)) for label, text in _details(finding)),
        )
        for finding in findings
    )


def _details(finding: Finding) -> Iterator[tuple[str, str]]:
    if finding.location.node:
        yield "layer", finding.location.node
    if finding.targets:
        yield "targets", targets_text(finding.targets)
    if finding.taken or finding.wanted:
        yield "kernel", " → ".join(kernel for kernel in (finding.taken, finding.wanted) if kernel)
    for source in finding.sources:
        yield "source", str(source)
    for label in PROPERTIES:
        if label in finding.properties:
            yield label, str(finding.properties[label])
    for name, pairs in finding.properties.items():
        if name.startswith(MEASURED):
            yield "measured", f"{name.removeprefix(MEASURED)}: {pairs}"


# The layers of a model with their connections and the classes of their channels.


NAMED = 6
"""Layers that the table of classes names; the drawing shows all."""


def graph_drawing(model: ModelAnalysis, names: Mapping[str, str], summary: FileSummary | None = None) -> GraphDrawing:
    """Inputs and layers in file order; nodes that compute nothing are part of the connections.

    `summary` says which layers CMSIS-NN does not compute.
    """
    beside = _graph_rows_beside(summary) if summary else {}
    records = model.lowered.records[:MOST]
    sources = _Sources(model, records)
    rows = [
        GraphRow(name, name, "input", _shape(model, name), "", (), _classes(model, name)) for name in sources.inputs
    ]
    rows += [_graph_rows_layer(model, record, names, sources.read_by(record), beside) for record in records]
    edges = []
    for number, row in enumerate(rows):
        readers = tuple(other for other, reader in enumerate(rows) if number in reader.reads and other > number)
        if readers:
            edges.append(GraphEdge(number, readers, row.classes))
    classes = tuple(_class(group, names) for group in model.dimensions.classes[:MOST])
    return GraphDrawing(tuple(rows), tuple(edges), classes, len(model.lowered.records) - len(records))


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
                behind = {*node.inputs, *(name for body in node.bodies for name in body.outputs)} - seen
                seen |= behind
                waiting += behind
        return tuple(sorted(rows - {here}))


def _graph_rows_beside(summary: FileSummary) -> dict[str, str]:
    """Who computes a layer that CMSIS-NN does not compute, by label; with CPUs where these differ."""
    computed_by: dict[str, dict[str, list[str]]] = {}
    for target in summary.targets:
        shares = ((summary.beside, target.plain), ("refused", target.refused), ("undecided", target.undecided))
        for word, label in ((word, label) for word, share in shares for label in share.nodes):
            computed_by.setdefault(label, {}).setdefault(word, []).append(target.target.partition(", ")[0])
    every = len(summary.targets)
    return {
        label: ", ".join(word if len(cpus) == every else f"{word} on {', '.join(cpus)}" for word, cpus in words.items())
        for label, words in computed_by.items()
    }


def _graph_rows_layer(
    model: ModelAnalysis,
    record: LoweredLayer,
    names: Mapping[str, str],
    reads: tuple[int, ...],
    beside: Mapping[str, str],
) -> GraphRow:
    node = record.node
    tensor = record.epilogue.tensor if record.epilogue else "".join(node.outputs[:1])
    op = " + ".join((node.op_type, *(fused.op_type for fused in record.fused)))
    name, shape = names.get(node.label, node.label), _shape(model, tensor)
    return GraphRow(name, node.label, op, shape, beside.get(node.label, ""), reads, _classes(model, tensor))


def _shape(model: ModelAnalysis, tensor: str) -> str:
    sizes = model.graph.shape(tensor)
    return "?" if sizes is None else "×".join("?" if size is None else str(size) for size in sizes)


def _classes(model: ModelAnalysis, tensor: str) -> tuple[int, ...]:
    """Classes on any axis of a tensor, in order, each once."""
    axes = model.dimensions.axes(tensor) or ()
    leaves = [leaf for axis in range(len(axes)) for leaf in model.dimensions.leaves(tensor, axis)]
    return tuple(leaf for leaf in dict.fromkeys(leaves) if model.dimensions.class_with_id(leaf) is not None)


def _class(group: DimensionClass, names: Mapping[str, str]) -> ChannelClass:
    def short(label: str) -> str:
        return names.get(label) or cut(label, WIDEST)

    return ChannelClass(
        group.id,
        group.size,
        group.freedom.value,
        _first(short(layer.label) for layer in group.deciders),
        _first(short(layer.label) for layer in group.readers),
        tuple(f"{short(lock.node)}: {lock.reason}" if lock.node else lock.reason for lock in group.locks),
    )


def _first(layers: Iterable[str]) -> tuple[str, ...]:
    """Some of the layers, and how many more there are."""
    every = tuple(dict.fromkeys(layers))
    return every if len(every) <= NAMED + 1 else (*every[:NAMED], f"{len(every) - NAMED} more")


# The arena over time: buffers as places over steps, and the step with the most bytes.


def memory_map(given: ReportInput, number: int) -> MemoryMap:
    """The map of a target, by its number."""
    report = given.memory[number]
    arena = report.arena
    if arena is None:
        return MemoryMap((), 0, 0, 0, 0, "", f"There is no plan of the arena: {report.reason}.")
    if not arena.alive or not arena.head:
        return MemoryMap((), 0, 0, 0, 0, "", "No activation has to be planned.")
    peak, count = arena.peak, len(arena.plan)
    missing = f"The plan has {count:,} buffers; at most {MOST:,} are drawn." if count > MOST else ""
    buffers = () if missing else tuple(_buffer(given, buffer, peak) for buffer in arena.plan)
    layer = "the host, before the first layer"
    if peak:
        layer = in_short("".join(arena.steps[peak - 1 : peak]), given.names)
    return MemoryMap(buffers, len(arena.alive), arena.head, peak, arena.alive[peak], layer, missing)


def _buffer(given: ReportInput, buffer: BufferLife, peak: int) -> DrawnBuffer:
    name, layer = (given.names.get(name, name) for name in (buffer.name, buffer.node))
    lives = buffer.first <= peak <= buffer.last
    return DrawnBuffer(name, layer, buffer.bytes, buffer.first, buffer.last, buffer.offset, lives)


# The section of each target: figures, kernels, layers, memory.


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
    if target.scratch is None:
        yield Fact("Scratch", "unknown", "what an operator asks for is not known")
    else:
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


# Before and after, side by side.


def compared_page(
    before: ReportInput, after: ReportInput, old: tuple[TargetSection, ...], new: tuple[TargetSection, ...]
) -> ComparedPage:
    """What changed, and both versions of each target's section."""
    compared = difference(before.version, after.version)
    olds, news = ({section.label: section for section in sections} for sections in (old, new))
    return ComparedPage(
        compared.before,
        compared.after,
        (
            *(
                FigurePair(f"Verdict on {', '.join(pair.targets)}", pair.before, pair.after, "", "same")
                for pair in compared.verdicts
            ),
            *(_figure(figure) for figure in compared.figures if not figure.before == figure.after == 0),
            *map(_time, compared.times),
        ),
        finding_blocks(compared.came, compared.names),
        finding_blocks(compared.went, compared.names),
        compared.stayed,
        tuple(
            ChangedLayer(
                layer_name(changed, compared.names),
                changed.target.partition(", ")[0],
                _side(changed.before),
                _side(changed.after),
            )
            for changed in compared.layers[:MOST]
        ),
        max(0, len(compared.layers) - MOST),
        tuple(_on_one_scale(olds.get(label), news.get(label)) for label in dict.fromkeys((*news, *olds))),
    )


def _on_one_scale(
    before: TargetSection | None, after: TargetSection | None
) -> tuple[TargetSection | None, TargetSection | None]:
    """Both with bars as long as their part of the longest layer of both."""
    every = [line for section in (before, after) if section for line in section.layers]
    longest = max((line.instructions or 0 for line in every), default=0) or 1
    old, new = (
        section
        and section._replace(
            layers=tuple(line._replace(length=(line.instructions or 0) / longest) for line in section.layers)
        )
        for section in (before, after)
    )
    return old, new


def _figure(figure: Figure) -> FigurePair:
    where = f" on {figure.target.partition(', ')[0]}" if figure.target else ""
    before, after = ("unknown" if number is None else f"{number:,}" for number in (figure.before, figure.after))
    change = figure.change or 0
    part = f" ({100 * change / figure.before:+.1f} %)" if figure.before else ""
    trend = "less" if change < 0 else "more" if change > 0 else "same"
    return FigurePair(f"{WORDS[figure.metric]}{where}", before, after, f"{change:+,}{part}" if change else "", trend)


def _time(pair: TimePair) -> FigurePair:
    before, after = ("unknown" if time is None else time.range for time in (pair.before, pair.after))
    return FigurePair(f"time on {pair.target.partition(', ')[0]}", before, after, "", "same")


def _side(layer: LayerReport | None) -> Fact:
    """Kernel and cost of a layer; one that is not there has neither."""
    return Fact(kernel_text(layer), layer.cost) if layer else Fact("not there", "")


# All that a report tells of one version of a model, worked out once.


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


# The whole page as records, from one version of a model or two.


class ReportPage(NamedTuple):
    """The page."""

    title: str
    """Name of the model's file."""
    path: str
    """As the user named it."""
    verdicts: tuple[str, ...]
    """Whether it runs and is right, a line for equal verdicts."""
    boundary: tuple[Fact, ...]
    """Its inputs and outputs."""
    sections: tuple[TargetSection, ...]
    """The targets."""
    graph: GraphDrawing
    """The layers and their connections."""
    findings: tuple[FindingBlock, ...]
    """Findings, the worst first."""
    notes: tuple[str, ...]
    """What the analysis takes for granted."""
    compared: ComparedPage | None
    """Before and after; None where only one version was given."""


def report_page(given: ReportInput, against: ReportInput | None = None) -> ReportPage:
    """The page of a model; `against` is the version before."""
    colors = kernel_colors([given] if against is None else [given, against])
    sections = target_sections(given, colors)
    compared = None
    if against is not None:
        compared = compared_page(against, given, target_sections(against, colors), sections)
    result = given.version.result
    return ReportPage(
        Path(given.model.path).name,
        given.version.name,
        tuple(line.text(given.names) for line in lines_of(result.verdicts)),
        tuple(
            Fact(f"{tensor.role} {given.names.get(tensor.name, tensor.name)}", tensor.text)
            for tensor in given.version.layers.boundary
        ),
        sections,
        graph_drawing(given.model, given.names, result.summary),
        all_findings(result.told, given.names),
        tuple(in_short(note, given.names) for note in result.notes),
        compared,
    )


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
    for layer in shown_layers(given):
        if layer.target == target.label and layer.instructions is not None and layer.node in tensors:
            results[tensors[layer.node]] = {"value": layer.instructions, **(HAZARD if layer.hazards else {})}
    name = f"predicted instructions, {target.label}; red: known error or wrong result"
    return {"results": results, "name": name, "gradient": list(GRADIENT)}


# Bars: the length of one layer, and the shares of all kernels in one line.


SEEN = 0.004
"""Part of the line below which a bar would not be seen."""


def layer_bar(line: LayerLine) -> str:
    """The bar of a layer, as long as its part of the longest one; hatched over where there is something to look at."""
    if line.instructions is None:
        title = f"{line.name}: cost {line.cost}"
        shape = '<rect class="unknown" x="0.5" y="0.5" width="99%" height="11"/>'
    else:
        title = f"{line.name}: {line.instructions:,} predicted instructions, {line.kernel}"
        wide = max(line.length, SEEN)
        shape = f'<rect class="q{line.color}" width="{100 * wide:.2f}%" height="12"/>'
    return f'<svg class="bar" width="100%" height="12" role="img"><title>{markup(title)}</title>{shape}</svg>'


def kernel_bar(kernels: Sequence[KernelShare]) -> str:
    """One line, divided among the kernels."""
    parts, left = [], 0.0
    for part in kernels:
        title = f"{part.kernel}: {100 * part.share:.1f} %"
        parts.append(
            f'<rect class="q{part.color} part" x="{100 * left:.2f}%" width="{100 * part.share:.2f}%" height="28">'
            f"<title>{markup(title)}</title></rect>"
        )
        left += part.share
    title = "<title>Predicted instructions of each kernel</title>"
    return f'<svg class="stack" width="100%" height="28" role="img">{title}{"".join(parts)}</svg>'


def swatch(color: int) -> str:
    """A small square in the colour of a kernel."""
    shape = f'<title>Colour of the kernel</title><rect class="q{color}" width="12" height="12"/>'
    return f'<svg class="swatch" width="12" height="12" role="img">{shape}</svg>'


# The arena over time: steps to the right, addresses upwards, each buffer a rectangle.


HIGH, FOOT = 200, 18
"""Pixels of the map, and of the words below it."""
ROOM = 7.0
"""Pixels of a character, for names that stand in their rectangles."""
NARROW = 300
"""Pixels of the map on the narrowest screen: names that do not fit there are left out."""


def memory_svg(memory: MemoryMap) -> str:
    """The map as SVG that takes the width of its place."""
    title = f"Arena over time: {memory.peak_bytes:,} bytes alive at the peak, in step {memory.peak_step}"
    return "".join(
        (
            f'<svg class="memory" width="100%" height="{HIGH + FOOT}" role="img"><title>{markup(title)}</title>',
            *(_rectangle(memory, buffer) for buffer in memory.buffers),
            *_peak(memory),
            f'<line class="axis" x1="0" x2="100%" y1="{HIGH}" y2="{HIGH}"/>',
            "</svg>",
        )
    )


def _rectangle(memory: MemoryMap, buffer: DrawnBuffer) -> str:
    left, wide = buffer.first / memory.steps, (buffer.last - buffer.first + 1) / memory.steps
    high = HIGH * buffer.bytes / memory.bytes
    top = HIGH - HIGH * (buffer.offset + buffer.bytes) / memory.bytes
    when = f"steps {buffer.first} to {buffer.last}, at {buffer.offset:,}"
    writer = f", written by {buffer.layer}" if buffer.layer else ""
    title = markup(f"{buffer.name}{writer}: {buffer.bytes:,} bytes, {when}")
    kind = "buffer peak" if buffer.at_peak else "buffer"
    shape = f'x="{100 * left:.3f}%" y="{top:.1f}" width="{100 * wide:.3f}%" height="{max(high, 1):.1f}"'
    text = ""
    if high >= 16 and wide * NARROW >= ROOM * len(buffer.name) + 8:
        position = f'x="{100 * (left + wide / 2):.3f}%" y="{top + high / 2 + 4:.1f}"'
        text = f'<text class="inside" {position} text-anchor="middle">{markup(buffer.name)}</text>'
    return f'<rect class="{kind}" {shape}><title>{title}</title></rect>{text}'


def _peak(memory: MemoryMap) -> Iterator[str]:
    """A line at the peak with a word below, on the side where there is room."""
    at = 100 * (memory.peak_step + 0.5) / memory.steps
    anchor = "start" if at < 35 else "end" if at > 65 else "middle"
    yield f'<line class="peak-line" x1="{at:.3f}%" x2="{at:.3f}%" y1="0" y2="{HIGH + 4}"/>'
    label = f"peak: step {memory.peak_step}, {memory.peak_bytes:,} bytes"
    yield f'<text x="{at:.3f}%" y="{HIGH + FOOT - 3}" text-anchor="{anchor}">{label}</text>'


# Connections beside the rows of the graph, one drawing for each row: a dot for the layer, a lane for each long way.


LANES = 10
"""Lanes side by side; connections beyond share the last one."""
STEP, DOT = 11, 18
"""Pixels between lanes, and from the top of a row to its dot."""


class Way(NamedTuple):
    """One connection as it is drawn."""

    edge: GraphEdge
    """What it connects."""
    lane: int
    """0 for one that ends in the next row, else how far left it runs."""


class Rails(NamedTuple):
    """The connections of a drawing."""

    ways: tuple[Way, ...]
    """Every connection."""
    width: int
    """Pixels that they take."""


def rails(drawing: GraphDrawing) -> Rails:
    """Lanes for all connections; one that only leads to the next row needs none."""
    ends: list[int] = []
    ways = []
    for edge in drawing.edges:
        if edge.readers[0] == edge.source + 1:
            ways.append(Way(edge._replace(readers=edge.readers[:1]), 0))
        far = tuple(reader for reader in edge.readers if reader > edge.source + 1)
        if far:
            lane = next((number for number, end in enumerate(ends) if end <= edge.source), len(ends))
            ends[lane : lane + 1] = [far[-1]]
            ways.append(Way(edge._replace(readers=far), 1 + min(lane, LANES - 1)))
    return Rails(tuple(ways), 2 * STEP + STEP * min(len(ends), LANES))


def rail_svg(rails: Rails, drawing: GraphDrawing, row: int) -> str:
    """The drawing beside a row."""
    across = rails.width - STEP
    classes = {group.id: group for group in drawing.classes}
    reads = ", ".join(drawing.rows[reader].name for reader in drawing.rows[row].reads)
    title = f"{drawing.rows[row].name} reads {reads or 'nothing that is drawn'}"
    parts = [
        part
        for way in rails.ways
        if way.edge.source <= row <= way.edge.readers[-1]
        for part in _way(way, row, across, classes)
    ]
    dot = f'<circle class="dot" cx="{across}" cy="{DOT}" r="4"/>'
    head = f'<svg class="rail" width="{rails.width}" height="100%" role="img"><title>{markup(title)}</title>'
    return f"{head}{''.join(parts)}{dot}</svg>"


def _way(way: Way, row: int, across: int, classes: Mapping[int, ChannelClass]) -> Iterator[str]:
    """What a connection draws in one row."""
    kind, title = _look(way.edge, classes)

    def line(x: int, top: str, bottom: str) -> str:
        return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}">{title}</line>'

    lane, first, last = across - STEP * way.lane, way.edge.source, way.edge.readers[-1]
    if way.lane == 0:
        yield line(across, str(DOT), "100%") if row == first else line(across, "0", str(DOT))
        return
    if row == first:
        yield f'<path class="{kind}" d="M{across} {DOT}Q{lane} {DOT} {lane} {DOT + 12}">{title}</path>'
        yield line(lane, str(DOT + 12), "100%")
    elif row in way.edge.readers:
        yield f'<path class="{kind}" d="M{lane} 4Q{lane} {DOT} {across} {DOT}">{title}</path>'
    if first < row:
        yield line(lane, "0", "100%" if row < last else "5")


def _look(edge: GraphEdge, classes: Mapping[int, ChannelClass]) -> tuple[str, str]:
    """Classes of the style sheet, and the title: those of the channel class, which is the first of several."""
    known = [classes[number] for number in edge.classes if number in classes]
    if not known:
        return "edge", "<title>no channel class</title>"
    marks = " ".join(f"k{group.id}" for group in known)
    title = "; ".join(class_words(group) for group in known)
    return f"edge {known[0].freedom.lower()} {marks}", f"<title>{markup(title)}</title>"


def class_words(group: ChannelClass) -> str:
    """`#3 COUPLED, 16 channels`."""
    return f"#{group.id} {group.freedom}, {group.size} channels"


# The page as text: records and drawings in the template, with a policy that lets nothing in from outside.


TEMPLATES = Path(__file__).parent / "templates"
POLICY = "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'"
"""Content-Security-Policy: the page's own style sheet and nothing else."""


def render_page(page: ReportPage) -> str:
    """The page. Raises UsageError without jinja2."""
    require_jinja2()
    environment = _environment()
    from markupsafe import Markup

    ways = rails(page.graph)
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8") + graph_style(page.graph, ways.width)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        page=page,
        version=__version__,
        style=Markup(style),
        policy=POLICY.format(digest),
        classes={group.id: group for group in page.graph.classes},
        class_words=class_words,
        layer_bar=lambda line: Markup(layer_bar(line)),
        kernel_bar=lambda kernels: Markup(kernel_bar(kernels)),
        swatch=lambda color: Markup(swatch(color)),
        memory_svg=lambda memory: Markup(memory_svg(memory)),
        rail=lambda row: Markup(rail_svg(ways, page.graph, row)),
    )


def graph_style(drawing: GraphDrawing, width: int) -> str:
    """Room for the connections, and rules that show all members of a channel class at which somebody points."""
    room = f".rows li{{padding-left:{width}px}}\n"
    rules = (
        f".graph:has(.k{n}:hover,.k{n}:focus-visible) .k{n}{{stroke-width:6;box-shadow:0 0 0 3px currentColor}}\n"
        for n in (group.id for group in drawing.classes)
    )
    return room + "".join(rules)


def require_jinja2() -> None:
    """Raise UsageError without jinja2."""
    if find_spec("jinja2") is None:
        raise UsageError("the report needs jinja2: pip install 'onnxlint-cmsis[report]'")


@cache
def _environment() -> jinja2.Environment:
    """Where the template is found, compiled once for all pages of a process."""
    import jinja2

    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
