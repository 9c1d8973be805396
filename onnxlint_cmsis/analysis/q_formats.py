"""The Q-formats of every layer of a model: fraction bits of its tensors, and shifts."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.analysis.fraction_bits import RealRange, fraction_bits, shifts
from onnxlint_cmsis.analysis.real_ranges import Measured, range_of
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.folded_weights import folded
from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
from onnxlint_cmsis.lower.real_values import Read
from onnxlint_cmsis.model.graph import Graph, Node

KEEPERS = (Function.RELU, Function.MAX_POOL, Function.AVERAGE_POOL)
"""Functions whose output has the Q-format of the input."""
PROBABILITIES = (Function.SOFTMAX, Function.ACTIVATION)
"""Functions that write numbers up to 1."""
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
        self._fused = {record.epilogue.tensor: record for record in self._records.values() if record.epilogue}
        self._read = read
        self._measured = measured
        self._formats: dict[int, LayerFormat] = {}
        self._fractions: dict[tuple[str, int], int | None] = {}  # by tensor and the bits of its reader

    def all(self) -> Mapping[int, LayerFormat]:
        """Formats by the index of the layer's node."""
        for record in self._records.values():
            self._of(record)
        return self._formats

    def _of(self, record: LoweredLayer) -> LayerFormat:
        index = record.node.index
        if index not in self._formats:
            self._formats[index] = self._weighted(record) if record.weighted else self._plain(record)
        return self._formats[index]

    def _plain(self, record: LoweredLayer) -> LayerFormat:
        """A layer without weights: it keeps the format, or writes numbers up to 1."""
        source = self._fraction(_operand(record.node), _bits(record))
        written = _bits(record) - 1 if _function(record) in PROBABILITIES else source
        return LayerFormat(source, output=written, unknown="" if source is not None else CALIBRATION)

    def _weighted(self, record: LoweredLayer) -> LayerFormat:
        layer, source = folded(self._graph, self._read, record), self._fraction(_operand(record.node), _bits(record))
        if layer is None:
            return LayerFormat(source, unknown=NOT_STORED)
        bits = 16 if _kind(record) == "q15" else 8
        weights, bias = (
            fraction_bits(RealRange(float(numbers.min()), float(numbers.max())), bits)
            for numbers in (layer.weights, layer.bias)
        )
        values = self._written(record)
        written = fraction_bits(values, _bits(record)) if values else None
        if weights is None or bias is None or source is None or written is None:
            return LayerFormat(source, weights, bias, written, unknown=CALIBRATION)
        fitting = shifts(source, weights, bias, written)
        return LayerFormat(source, weights, fitting.bias, fitting.output, fitting.bias_shift, fitting.out_shift)

    def _written(self, record: LoweredLayer) -> RealRange | None:
        """Range of a layer's output; at least 0 if a Relu follows."""
        tensor = record.epilogue.tensor if record.epilogue else record.node.outputs[0]
        reader = self._behind(tensor)
        clamp = self._records.get(reader.index) if reader is not None else None
        if reader is not None and clamp is not None and _function(clamp) is Function.RELU:
            behind = range_of(self._graph, reader.outputs[0], self._measured)
            return behind or range_of(self._graph, tensor, self._measured)
        return range_of(self._graph, tensor, self._measured)

    def _behind(self, tensor: str) -> Node | None:
        """The only reader of a tensor, past nodes that compute nothing."""
        reader = self._graph.only_reader(tensor)
        while reader is not None and reader.index not in self._records and reader.outputs and reader.inputs[:1]:
            reader = self._graph.only_reader(reader.outputs[0])
        return reader

    def _fraction(self, tensor: str, bits: int) -> int | None:
        """Fraction bits of an activation, from the layer that computes it; known for all tensors on the way to it."""
        passed: list[tuple[str, int]] = []
        while (tensor, bits) not in self._fractions and len(passed) <= len(self._graph.nodes):
            passed.append((tensor, bits))
            node = self._graph.producers.get(tensor)
            record = (self._records.get(node.index) or self._fused.get(tensor)) if node else None
            if record is not None and _function(record) not in KEEPERS:
                self._fractions[tensor, bits] = self._of(record).output
            elif node is None or not node.inputs or (record is None and not operator_of(node).free):
                values = range_of(self._graph, tensor, self._measured)
                self._fractions[tensor, bits] = fraction_bits(values, bits) if values else None
            else:
                tensor = _operand(node)
        fraction = self._fractions.get((tensor, bits))
        self._fractions |= dict.fromkeys(passed, fraction)
        return fraction


def _operand(node: Node) -> str:
    return node.inputs[operator_of(node).roles.first]


def _function(record: LoweredLayer) -> str:
    return record.call.function if record.call else ""


def _kind(record: LoweredLayer) -> str:
    return record.call.types if record.call else ""


def _bits(record: LoweredLayer) -> int:
    return 8 if _kind(record) == "q7" else 16
