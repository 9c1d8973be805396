"""The Q-formats of every layer of a model: fraction bits of its tensors, and shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.lower.folded_weights import folded
from onnxlint_cmsis.lower.operands import operands
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.q_formats.activation_ranges import only_reader, range_of
from onnxlint_cmsis.q_formats.q_number import RealRange, Shifts, fraction_bits, shifts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxlint_cmsis.graph.model import Graph, Node
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.lower.real_values import Read
    from onnxlint_cmsis.q_formats.activation_ranges import Measured

KEEPERS = ("relu", "max_pool", "avgpool")
"""Stems of entry points whose output has the Q-format of the input."""
PROBABILITIES = ("softmax", "activation")
"""Stems of entry points that write numbers up to 1."""
CALIBRATION = "the ranges of activations are not known; --calibration measures them"
NOT_STORED = "weights are not in the file, or not as numbers that a layer reads"


class LayerFormat(NamedTuple):
    """Fraction bits of one layer; None where the layer has no such tensor, or the range is unknown."""

    input: int | None = None
    """Of its input."""
    weights: int | None = None
    """Of its weights."""
    bias: int | None = None
    """Of its bias."""
    output: int | None = None
    """Of its output."""
    bias_shift: int | None = None
    """Argument `bias_shift`, in bits to the left."""
    out_shift: int | None = None
    """Argument `out_shift`, in bits to the right."""
    unknown: str = ""
    """Why a part is unknown, as a clause."""


class ModelFormats:
    """The Q-formats of a model; each tensor has one."""

    def __init__(self, graph: Graph, lowered: Lowered, read: Read, measured: Measured) -> None:
        self._graph = graph
        self._records = {record.node.index: record for record in lowered.records if record.call}
        self._read = read
        self._measured = measured
        self._found: dict[int, LayerFormat] = {}

    def all(self) -> Mapping[int, LayerFormat]:
        """Formats by the index of the layer's node."""
        for record in self._records.values():
            self._of(record)
        return self._found

    def _of(self, record: LoweredLayer) -> LayerFormat:
        index = record.node.index
        if index not in self._found:
            self._found[index] = self._weighted(record) if record.weighted else self._plain(record)
        return self._found[index]

    def _plain(self, record: LoweredLayer) -> LayerFormat:
        """A layer without weights: it keeps the format, or writes numbers up to 1."""
        source = self._fraction(_operand(record.node), _bits(record))
        written = _bits(record) - 1 if _stem(record) in PROBABILITIES else source
        return LayerFormat(source, output=written, unknown="" if source is not None else CALIBRATION)

    def _weighted(self, record: LoweredLayer) -> LayerFormat:
        made, source = folded(self._graph, self._read, record), self._fraction(_operand(record.node), _bits(record))
        if made is None:
            return LayerFormat(source, unknown=NOT_STORED)
        bits = 16 if _kind(record) == "q15" else 8
        weights, bias = (
            fraction_bits(RealRange(float(each.min()), float(each.max())), bits) for each in (made.weights, made.bias)
        )
        values = self._written(record)
        written = fraction_bits(values, _bits(record)) if values else None
        if weights is None or bias is None or source is None or written is None:
            return LayerFormat(source, weights, bias, written, unknown=CALIBRATION)
        return _fitted(source, weights, shifts(source, weights, bias, written))

    def _written(self, record: LoweredLayer) -> RealRange | None:
        """Range of a layer's output; at least 0 if a Relu follows."""
        tensor = record.epilogue.tensor if record.epilogue else record.node.outputs[0]
        reader = self._behind(tensor)
        if reader is not None and self._clamps(reader):
            behind = range_of(self._graph, reader.outputs[0], self._measured)
            return behind or range_of(self._graph, tensor, self._measured)
        return range_of(self._graph, tensor, self._measured)

    def _clamps(self, node: Node) -> bool:
        """Whether a node sets values below 0 to 0."""
        record = self._records.get(node.index)
        return record is not None and _stem(record) == "relu"

    def _behind(self, tensor: str) -> Node | None:
        """The only reader of a tensor, past nodes that compute nothing."""
        reader = only_reader(self._graph, tensor)
        while reader is not None and reader.index not in self._records and reader.outputs and reader.inputs[:1]:
            reader = only_reader(self._graph, reader.outputs[0])
        return reader

    def _fraction(self, tensor: str, bits: int) -> int | None:
        """Fraction bits of an activation, from the layer that computes it."""
        for _ in range(len(self._graph.nodes) + 1):
            node = self._graph.producers.get(tensor)
            record = self._maker(node, tensor)
            if record is not None and _stem(record) not in KEEPERS:
                return self._of(record).output
            if node is None or not node.inputs or (record is None and not self._moves(node)):
                break
            tensor = _operand(node)
        values = range_of(self._graph, tensor, self._measured)
        return fraction_bits(values, bits) if values else None

    def _maker(self, node: Node | None, tensor: str) -> LoweredLayer | None:
        """The layer that computes a tensor, alone or fused."""
        if node is None:
            return None
        ends = (each for each in self._records.values() if each.epilogue and each.epilogue.tensor == tensor)
        return self._records.get(node.index) or next(ends, None)

    def _moves(self, node: Node) -> bool:
        from onnxlint_cmsis.operators.registry import operator_of

        return operator_of(node).free


def _fitted(source: int, weights: int, made: Shifts) -> LayerFormat:
    return LayerFormat(source, weights, made.bias, made.output, made.bias_shift, made.out_shift)


def _operand(node: Node) -> str:
    return node.inputs[operands(node.domain, node.op_type).activation]


def _stem(record: LoweredLayer) -> str:
    return record.call.entry.rpartition("_")[0] if record.call else ""


def _kind(record: LoweredLayer) -> str:
    return record.call.entry.rpartition("_")[2] if record.call else ""


def _bits(record: LoweredLayer) -> int:
    """Bits of a layer's activations."""
    return 8 if _kind(record) == "q7" else 16
