"""The layers of a model with their connections and the classes of their channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.html_report.graph_records import ChannelClass, GraphDrawing, GraphEdge, GraphRow
from onnxlint_cmsis.html_report.page_records import MOST
from onnxlint_cmsis.results.short_names import WIDEST, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnxlint_cmsis.analysis import ModelAnalysis
    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.lower.lowered import LoweredLayer
    from onnxlint_cmsis.results.file_summary import FileSummary

NAMED = 6
"""Layers that the table of classes names; the drawing shows all."""


def graph_drawing(model: ModelAnalysis, names: Mapping[str, str], summary: FileSummary | None = None) -> GraphDrawing:
    """Inputs and layers in file order; nodes that compute nothing are part of the connections.

    `summary` says which layers CMSIS-NN does not compute.
    """
    beside = _beside(summary) if summary else {}
    records = model.lowered.records[:MOST]
    sources = _Sources(model, records)
    rows = [_input(model, name) for name in sources.inputs]
    rows += [_layer(model, record, names, sources.read_by(record), beside) for record in records]
    edges = []
    for place, row in enumerate(rows):
        readers = tuple(other for other, each in enumerate(rows) if place in each.reads and other > place)
        if readers:
            edges.append(GraphEdge(place, readers, row.classes))
    classes = tuple(_class(group, names) for group in model.dimensions.classes[:MOST])
    return GraphDrawing(tuple(rows), tuple(edges), classes, len(model.lowered.records) - len(records))


class _Sources:
    """Which row makes what a layer reads, seen through nodes that compute nothing."""

    def __init__(self, model: ModelAnalysis, records: tuple[LoweredLayer, ...]) -> None:
        self._graph = model.graph
        self.inputs = [name for name in model.graph.inputs if name not in model.graph.constants]
        self._rows = {name: place for place, name in enumerate(self.inputs)}
        self._nodes: dict[int, int] = {}
        for place, record in enumerate(records, len(self.inputs)):
            for node in (record.node, *record.fused):
                self._nodes[node.index] = place

    def read_by(self, record: LoweredLayer) -> tuple[int, ...]:
        """Rows that a layer reads, each once; constants and tensors of layers that are not drawn are left out."""
        found: set[int] = set()
        here = self._nodes[record.node.index]
        waiting, seen = list(record.node.inputs), set(record.node.inputs)
        while waiting:
            tensor = waiting.pop()
            node = self._graph.producers.get(tensor)
            row = self._rows.get(tensor) if node is None else self._nodes.get(node.index)
            if row is not None:
                found.add(row)
            elif node is not None:
                behind = {*node.inputs, *(name for body in node.bodies for name in body.outputs)} - seen
                seen |= behind
                waiting += behind
        return tuple(sorted(found - {here}))


def _beside(summary: FileSummary) -> dict[str, str]:
    """Who computes a layer that CMSIS-NN does not compute, by label; with CPUs where these differ."""
    found: dict[str, dict[str, list[str]]] = {}
    for target in summary.targets:
        shares = ((summary.beside, target.plain), ("refused", target.refused), ("undecided", target.undecided))
        for word, label in ((word, label) for word, share in shares for label in share.nodes):
            found.setdefault(label, {}).setdefault(word, []).append(target.target.partition(", ")[0])
    every = len(summary.targets)
    return {
        label: ", ".join(word if len(cpus) == every else f"{word} on {', '.join(cpus)}" for word, cpus in words.items())
        for label, words in found.items()
    }


def _made(record: LoweredLayer) -> str:
    """The tensor that a layer ends in."""
    return record.epilogue.tensor if record.epilogue else record.node.outputs[0] if record.node.outputs else ""


def _input(model: ModelAnalysis, name: str) -> GraphRow:
    return GraphRow(name, name, "input", _shape(model, name), "", (), _classes(model, name))


def _layer(
    model: ModelAnalysis,
    record: LoweredLayer,
    names: Mapping[str, str],
    reads: tuple[int, ...],
    beside: Mapping[str, str],
) -> GraphRow:
    node = record.node
    made = _made(record)
    op = " + ".join((node.op_type, *(each.op_type for each in record.fused)))
    name, shape = names.get(node.label, node.label), _shape(model, made)
    return GraphRow(name, node.label, op, shape, beside.get(node.label, ""), reads, _classes(model, made))


def _shape(model: ModelAnalysis, tensor: str) -> str:
    sizes = model.graph.shape(tensor)
    return "?" if sizes is None else "×".join("?" if size is None else str(size) for size in sizes)


def _classes(model: ModelAnalysis, tensor: str) -> tuple[int, ...]:
    """Classes on any axis of a tensor, in order, each once."""
    axes = model.dimensions.axes(tensor) or ()
    found = [leaf for axis in range(len(axes)) for leaf in model.dimensions.leaves(tensor, axis)]
    return tuple(leaf for leaf in dict.fromkeys(found) if model.dimensions.class_with_id(leaf) is not None)


def _class(group: DimensionClass, names: Mapping[str, str]) -> ChannelClass:
    def short(label: str) -> str:
        return names.get(label) or cut(label, WIDEST)

    return ChannelClass(
        group.id,
        group.size,
        group.freedom.value,
        _first(short(each.label) for each in group.deciders),
        _first(short(each.label) for each in group.readers),
        tuple(f"{short(lock.node)}: {lock.reason}" if lock.node else lock.reason for lock in group.locks),
    )


def _first(layers: Iterable[str]) -> tuple[str, ...]:
    """Some of the layers, and how many more there are."""
    every = tuple(dict.fromkeys(layers))
    return every if len(every) <= NAMED + 1 else (*every[:NAMED], f"{len(every) - NAMED} more")
