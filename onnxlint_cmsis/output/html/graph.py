"""The layers of a model with their connections and the classes of their channels."""

from __future__ import annotations

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.dims import dims_of
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.output.html.report_input import MOST, ReportInput
from onnxlint_cmsis.output.layer_words import sizes_text


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
