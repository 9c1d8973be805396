"""Numbers of q7 and q15: formats for layers from the ranges of their activations."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, isfinite, log2
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.lowered import folded
from onnxlint_cmsis.lower.quantization import INTEGERS, STORED, of_integers, of_result, quantizes

if TYPE_CHECKING:
    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.lower.quantization import AffineQuantization, Read
    from onnxlint_cmsis.model.graph import Graph, Node


# Numbers of q7 and q15: an integer of 8 or 16 bits times a power of two.


MOST_BITS = 31
"""Most useful fraction bits: sums have 32 bits."""


class RealRange(NamedTuple):
    """Least and largest number of a tensor."""

    low: float
    """Least."""
    high: float
    """Largest."""


def fraction_bits(values: RealRange, bits: int) -> int | None:
    """Most fraction bits with which every rounded number fits `bits` bits; None for numbers that are not finite.

    A tensor of zeros gets `bits - 1`, as for numbers up to 1.
    """
    if not (isfinite(values.low) and isfinite(values.high)):
        return None
    magnitude = max(abs(values.low), abs(values.high))
    if magnitude == 0:
        return bits - 1
    fraction = min(bits - floor(log2(magnitude)), MOST_BITS)
    while not _fits(values, fraction, bits):
        fraction -= 1
    return fraction


def _fits(values: RealRange, fraction: int, bits: int) -> bool:
    largest = 1 << (bits - 1)
    return round(values.high * 2.0**fraction) <= largest - 1 and round(values.low * 2.0**fraction) >= -largest


class Shifts(NamedTuple):
    """Matching fraction bits of a layer, with its shifts."""

    bias: int
    """Fraction bits of the bias, at most those of a product."""
    output: int
    """Fraction bits of the output, at most those of a product."""
    bias_shift: int
    """Bits that the bias is shifted to the left."""
    out_shift: int
    """Bits that the sum is shifted to the right."""


def shifts(source: int, weights: int, bias: int, output: int) -> Shifts:
    """Shifts from the fraction bits of input, weights, bias and output; neither is below 0."""
    product = source + weights
    bias, output = min(bias, product), min(output, product)
    return Shifts(bias, output, product - bias, product - output)


# Ranges of activations: measured with a user's inputs, or stated by the scales of a quantized model.


Measured = Mapping[str, RealRange]
"""Range of a tensor by its name."""


def range_of(graph: Graph, tensor: str, measured: Measured) -> RealRange | None:
    """Range of an activation: measured, else from its scale; None for neither."""
    if tensor in measured:
        return measured[tensor]
    producer = graph.producers.get(tensor)
    if graph.elem_type(tensor) in STORED:
        return _stated(of_integers(graph, tensor))
    carried = of_result(graph, producer) if producer is not None and operator_of(producer).roles.quantized else None
    reader = next((node for node in graph.consumers.get(tensor, ()) if quantizes(node)), None)
    return _stated(carried or (of_result(graph, reader) if reader is not None else None))


def _stated(quantization: AffineQuantization | None) -> RealRange | None:
    """Range of the real numbers that a quantized tensor can hold."""
    bounds = INTEGERS.get(quantization.elem_type) if quantization else None
    if quantization is None or bounds is None or not quantization.scales or not quantization.zero_points:
        return None
    if len(quantization.scales) != 1 or len(quantization.zero_points) != 1:
        return None
    scale, zero = quantization.scales[0], quantization.zero_points[0]
    return RealRange(*(scale * (bound - zero) for bound in bounds))


def only_reader(graph: Graph, tensor: str) -> Node | None:
    """The only reader of a tensor; None for several readers, and for an output of the model."""
    readers = graph.consumers.get(tensor, ())
    return readers[0] if len(readers) == 1 and tensor not in graph.outputs else None


# The Q-formats of every layer of a model: fraction bits of its tensors, and shifts.


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
        self._read = read
        self._measured = measured
        self._formats: dict[int, LayerFormat] = {}

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
        reader = only_reader(self._graph, tensor)
        while reader is not None and reader.index not in self._records and reader.outputs and reader.inputs[:1]:
            reader = only_reader(self._graph, reader.outputs[0])
        return reader

    def _fraction(self, tensor: str, bits: int) -> int | None:
        """Fraction bits of an activation, from the layer that computes it."""
        for _ in range(len(self._graph.nodes) + 1):
            node = self._graph.producers.get(tensor)
            record = self._maker(node, tensor)
            if record is not None and _function(record) not in KEEPERS:
                return self._of(record).output
            if node is None or not node.inputs or (record is None and not operator_of(node).free):
                break
            tensor = _operand(node)
        values = range_of(self._graph, tensor, self._measured)
        return fraction_bits(values, bits) if values else None

    def _maker(self, node: Node | None, tensor: str) -> LoweredLayer | None:
        """The layer that computes a tensor, alone or fused."""
        if node is None:
            return None
        ends = (record for record in self._records.values() if record.epilogue and record.epilogue.tensor == tensor)
        return self._records.get(node.index) or next(ends, None)


def _operand(node: Node) -> str:
    return node.inputs[operator_of(node).roles.first]


def _function(record: LoweredLayer) -> str:
    return record.call.function if record.call else ""


def _kind(record: LoweredLayer) -> str:
    return record.call.types if record.call else ""


def _bits(record: LoweredLayer) -> int:
    """Bits of a layer's activations."""
    return 8 if _kind(record) == "q7" else 16
