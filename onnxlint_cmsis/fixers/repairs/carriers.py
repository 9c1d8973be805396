"""Integer tensors that nodes read and make, and tensors with the same integers, moved or clamped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.lower.epilogue import is_clamp
from onnxlint_cmsis.lower.find_quantization import keeps_scale, of_integers
from onnxlint_cmsis.lower.lowered import LoweredLayer
from onnxlint_cmsis.lower.operands import parameters_of
from onnxlint_cmsis.lower.stored_types import MOVES, STORED, dequantizes, quantizes
from onnxlint_cmsis.model.graph import Graph, Node


class IntegerCarriers:
    """The integer tensors of one model."""

    def __init__(self, graph: Graph, records: Iterable[LoweredLayer]) -> None:
        self._graph = graph
        self._ends = {record.node.outputs[0]: record.epilogue.tensor for record in records if record.epilogue}

    def carrier(self, tensor: str) -> str:
        """The integers behind a tensor that a node reads or makes; empty where there are none."""
        graph = self._graph
        for _ in range(len(graph.nodes) + 1):
            if graph.elem_type(tensor) in STORED:
                return tensor
            if tensor in self._ends:
                tensor = self._ends[tensor]
                continue
            producer = graph.producers.get(tensor)
            moves = producer is not None and (dequantizes(producer) or operator_of(producer).elements in MOVES)
            if producer is None or not moves or not producer.inputs:
                return ""
            tensor = producer.inputs[0]
        return ""

    def alike(self, tensor: str) -> tuple[str, ...]:
        """A tensor with all that hold its integers moved, chosen from or clamped, with the same parameters."""
        members, waiting = {tensor: None}, [tensor]
        while waiting:
            name = waiting.pop()
            for other in (*self._before(name), *self._behind(name)):
                if other not in members:
                    members[other] = None
                    waiting.append(other)
        return tuple(members)

    def _behind(self, tensor: str) -> Iterator[str]:
        for reader in self._graph.consumers.get(tensor, ()):
            if dequantizes(reader) and tensor == reader.inputs[0]:
                yield from self._requantized(tensor, reader.outputs[0])
            elif keeps_scale(reader) and parameters_of(reader, -1) is None and not quantizes(reader):
                yield reader.outputs[0]

    def _requantized(self, tensor: str, real: str) -> Iterator[str]:
        """Integers that a QuantizeLinear of the same parameters makes of a real tensor that is moved or clamped."""
        for reader in self._graph.consumers.get(real, ()):
            if quantizes(reader) and reader.inputs[0] == real:
                if self._same(tensor, reader.outputs[0]):
                    yield reader.outputs[0]
            elif self._real_step(reader, real):
                yield from self._requantized(tensor, reader.outputs[0])

    def _before(self, tensor: str) -> Iterator[str]:
        producer = self._graph.producers.get(tensor)
        if producer is None or not producer.inputs:
            return
        if quantizes(producer):
            source = self._source(producer.inputs[0])
            if source and self._same(tensor, source):
                yield source
        elif keeps_scale(producer) and parameters_of(producer, -1) is None:
            yield from (name for name in producer.inputs if self._graph.elem_type(name) in STORED and name)

    def _source(self, real: str) -> str:
        """Integers that a real tensor is made of by DequantizeLinear, moves and clamps; empty where there are none."""
        for _ in range(len(self._graph.nodes) + 1):
            producer = self._graph.producers.get(real)
            if producer is None or not producer.inputs:
                return ""
            if dequantizes(producer):
                return producer.inputs[0]
            if not self._real_step(producer, producer.inputs[0]):
                return ""
            real = producer.inputs[0]
        return ""

    def _real_step(self, node: Node, real: str) -> bool:
        moves = operator_of(node).elements in MOVES and not (quantizes(node) or dequantizes(node))
        return bool(node.outputs) and node.inputs[0] == real and (moves or is_clamp(self._graph, node))

    def _same(self, *tensors: str) -> bool:
        """Tell whether two integer tensors have the same parameters."""
        first, second = (of_integers(self._graph, tensor) for tensor in tensors)
        return first is not None and second is not None and first.equals(second)
