"""Float islands: nodes of a quantized model that compute in float, connected by float tensors."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.binary import computed_from_constants
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.lower.stored_types import dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import Elements

IN_FLOAT = (Cause.FLOAT, Cause.FLOAT_RESULT)
"""Causes of nodes that compute in float, or whose result stays float."""


class FloatIsland(NamedTuple):
    """Connected nodes that compute in float."""

    records: tuple[LoweredLayer, ...]
    """Those that have something to compute, in file order."""
    first: tuple[str, ...]
    """Tensors that it begins at: quantized ones, and inputs of the model."""
    last: tuple[str, ...]
    """Tensors that it ends at: what QuantizeLinear reads, and outputs of the model."""
    dynamic: bool
    """Whether a scale that is known only at run time is at one of its ends."""


def islands(graph: Graph, lowered: Lowered) -> Iterator[FloatIsland]:
    """Each float island, in file order."""
    walk = _Islands(graph, lowered)
    for record in lowered.beside:
        if record.cause in IN_FLOAT and record.node.index not in walk.seen:
            yield walk.around(record.node)


class _Islands:
    def __init__(self, graph: Graph, lowered: Lowered) -> None:
        self._graph = graph
        self._records = lowered.by_index
        self.seen: set[int] = set()
        """Nodes of islands met so far, by `Node.index`."""

    def around(self, node: Node) -> FloatIsland:
        """The island of one node: all reachable nodes that neither quantize nor are integer layers."""
        waiting, nodes = [node], [node]
        self.seen.add(node.index)
        first: dict[str, None] = {}
        last: dict[str, None] = {}
        dynamic = False
        while waiting:
            here = waiting.pop()
            for tensor in here.inputs:
                producer = self._graph.producers.get(tensor)
                if producer is not None and self._inside(producer):
                    self._enter(producer, waiting, nodes)
                elif tensor and not computed_from_constants(self._graph, tensor):
                    first[tensor] = None
                    dynamic = dynamic or self._dynamic(producer)
            for tensor in here.outputs:
                for reader in self._graph.consumers.get(tensor, ()):
                    if self._inside(reader):
                        self._enter(reader, waiting, nodes)
                    else:
                        last[tensor] = None
                        dynamic = dynamic or self._dynamic(reader)
                if tensor in self._graph.outputs:
                    last[tensor] = None
        records = [self._records[record.index] for record in nodes if record.index in self._records]
        ordered = sorted(records, key=lambda record: record.node.index)
        return FloatIsland(tuple(ordered), tuple(first), tuple(last), dynamic)

    def _enter(self, node: Node, waiting: list[Node], nodes: list[Node]) -> None:
        if node.index not in self.seen:
            self.seen.add(node.index)
            waiting.append(node)
            nodes.append(node)

    def _inside(self, node: Node) -> bool:
        """Tell whether a node computes on float tensors."""
        if quantizes(node) or dequantizes(node) or node.bodies:
            return False
        record = self._records.get(node.index)
        if record is None:
            return operator_of(node).elements not in (Elements.MEASURED, Elements.STORED)
        return record.cause in IN_FLOAT or (record.cause is Cause.NO_FUNCTION and record.verdict is Outcome.NO_KERNEL)

    def _dynamic(self, node: Node | None) -> bool:
        if node is None:
            return False
        record = self._records.get(node.index)
        if record is not None and record.cause is Cause.DYNAMIC_QUANTIZATION:
            return True
        return operator_of(node).elements is Elements.MEASURED
