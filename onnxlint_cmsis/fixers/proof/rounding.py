"""What rounding to 8 or 16 bits changes: each layer by itself beside the float model, and all of them together."""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxlint_cmsis.analysis.fraction_bits import RealRange
from onnxlint_cmsis.analysis.q_formats import KEEPERS, PROBABILITIES
from onnxlint_cmsis.fixers.proof.onnx_model import OnnxModel
from onnxlint_cmsis.fixers.proof.samples import Samples, tensor_ranges
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function
from onnxlint_cmsis.lower.operands import activations_of
from onnxlint_cmsis.lower.real_values import Read, real_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto

    from onnxlint_cmsis.lower.lowered import Lowered, LoweredLayer
    from onnxlint_cmsis.model.graph import Graph


class RoundingErrors(NamedTuple):
    """Errors as root mean squares, each as a share of the root mean square of the float values; 0 for none."""

    layers: Mapping[int, float]
    """By index of its node, of a layer that gets exact inputs; its inputs, weights and result are rounded.

    A layer is left out that keeps a state, that stands in a subgraph, or whose tensors are not float32 or are all 0.
    """
    outputs: Mapping[str, float]
    """Of each float output of the model, with all these layers rounded."""
    samples: int
    """How many runs they were measured in."""


class _Grid(NamedTuple):
    """The numbers that integers of a tensor stand for."""

    scale: float
    """Step."""
    zero_point: int
    """Integer that stands for 0."""


def _grid(values: RealRange, bits: int) -> _Grid:
    """In 8 bits from the least to the largest number, 0 included; in 16 bits with a zero-point of 0."""
    low, high = min(values.low, 0.0), max(values.high, 0.0)
    if bits == 16:
        return _Grid(max(-low, high) / 32767 or 1.0, 0)
    scale = (high - low) / 255 or 1.0
    return _Grid(scale, round(-128 - low / scale))


def _rounded(
    values: NDArray[np.float64], scale: NDArray[np.float64] | float, zero_point: int, bits: int
) -> NDArray[np.float64]:
    largest = 1 << (bits - 1)
    integers = np.clip(np.rint(values / scale) + zero_point, -largest, largest - 1)
    return np.asarray((integers - zero_point) * scale)


_WEIGHT_BITS = {"s4": 4}
"""Bits of the weights of a type; 8 for all others."""
_KEEP_STATE = (Function.LSTM, Function.SVDF)
"""Functions with integers inside that no rounding of their ends stands for."""
_PREFIX = "onnxlint-cmsis/"
"""First part of names of tensors that the model does not have."""
_FLOAT = "float32"


class _FloatLayer(NamedTuple):
    """A layer that will be rounded."""

    record: LoweredLayer
    """The layer."""
    operands: tuple[int, ...]
    """Positions of activations that are no constants."""
    constants: Mapping[int, NDArray[np.float64]]
    """Rounded constants by position: weights, and operands of Add and its like."""
    nodes: tuple[str, ...]
    """The first tensor of each node that it consists of."""
    tensor: str
    """What it writes."""


class _RoundedModel:
    """A float model with the layers that compute in integers rounded as these would be."""

    def __init__(self, graph: Graph, lowered: Lowered, read: Read, samples: Samples, assume: str) -> None:
        self._graph, self._read, self._samples = graph, read, samples
        self._bits, self._weight_bits = 16 if assume == "s16" else 8, _WEIGHT_BITS.get(assume, 8)
        self._ranges = tensor_ranges(samples)
        self._nodes = {node.output[0]: node for node in samples.model.proto.graph.node if node.output}
        self._keepers = {
            record.node.outputs[0]: operand
            for record in lowered.records
            if record.layer and record.layer.call.function in KEEPERS
            for operand in record.node.inputs[:1]
        }
        self._unit = {
            record.epilogue.tensor if record.epilogue else record.node.outputs[0]
            for record in lowered.records
            if record.layer and record.layer.call.function in PROBABILITIES
        }
        self.layers = [layer for record in lowered.records if (layer := self._layer(record)) is not None]
        """Layers that are rounded."""

    def _layer(self, record: LoweredLayer) -> _FloatLayer | None:
        """A layer that can be rounded; None for all others."""
        if not record.assumed or record.node.graph or record.layer is None or record.node.inputs == ():
            return None
        epilogue = record.epilogue
        tensor = epilogue.tensor if epilogue else record.node.outputs[0]
        nodes = (record.node.outputs[0], *(node.outputs[0] for node in (epilogue.absorbed if epilogue else ())))
        positions = [position for position in activations_of(record.node) if record.node.inputs[position]]
        constants: dict[int, NDArray[np.float64]] = {}
        for position in positions:
            values = real_values(self._graph, self._read, record.node.inputs[position])
            if values is not None and values.size:
                constants[position] = self._constant(record, position, values)
        operands = tuple(position for position in positions if position not in constants)
        measured = {tensor, *(record.node.inputs[position] for position in operands)}
        known = all(name in self._ranges and self._graph.elem_type(name) in ("", _FLOAT) for name in measured)
        state = record.layer.call.function in _KEEP_STATE
        if state or not operands or not known or not all(name in self._nodes for name in nodes):
            return None
        return _FloatLayer(record, operands, constants, nodes, tensor)

    def _constant(self, record: LoweredLayer, position: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """A constant, rounded: weights symmetrically, any other as an activation."""
        function = record.layer.call.function if record.layer else ""
        if not (record.weighted and position == operator_of(record.node).roles.second):
            grid = _grid(RealRange(float(values.min()), float(values.max())), self._bits)
            return _rounded(values, grid.scale, grid.zero_point, self._bits)
        axis = 1 if function is Function.TRANSPOSE_CONV else 0
        others = tuple(number for number in range(values.ndim) if number != axis)
        channels = None if function is Function.FULLY_CONNECTED else others
        largest = np.max(np.abs(values), axis=channels, keepdims=True)
        scale = largest / ((1 << (self._weight_bits - 1)) - 1)
        return _rounded(values, np.where(scale > 0, scale, 1.0), 0, self._weight_bits)

    def _grid_of(self, tensor: str) -> _Grid:
        """Pools and Relu keep the scale of their input; Softmax, Sigmoid and Tanh have theirs."""
        source = tensor
        while source in self._keepers and self._keepers[source] in self._ranges:
            source = self._keepers[source]
        values = self._ranges[source]
        if source in self._unit:
            values = RealRange(0.0, 255 / 256) if values.low >= 0 else RealRange(-1.0, 127 / 128)
        return _grid(values, self._bits)

    def apart(self) -> OnnxModel:
        """The float model, and a copy of each rounded layer beside it, which writes the tensor `result_of(layer)`."""
        proto = self._start()
        for tensor in dict.fromkeys(self._operands()):
            proto.graph.node.extend(self._rounding(proto, tensor, tensor, _rounded_name(tensor)))
        for layer in self.layers:
            names = {name: f"{_PREFIX}inside/{name}" for name in layer.nodes}
            for number, name in enumerate(layer.nodes):
                copy = proto.graph.node.add()
                copy.CopyFrom(self._nodes[name])
                copy.name = ""
                if number == 0:
                    self._feed(proto, layer, copy)
                copy.input[:] = [names.get(source, source) for source in copy.input]
                copy.output[:] = [names.get(copy.output[0], "")]
            proto.graph.node.extend(self._rounding(proto, layer.tensor, names[layer.nodes[-1]], result_of(layer)))
        return self._model(proto)

    def together(self) -> OnnxModel:
        """The model with all layers rounded; what a layer writes is rounded where others read it, and as an output."""
        proto = self._start()
        rounded = dict.fromkeys((*self._operands(), *(layer.tensor for layer in self.layers)))
        first = {layer.nodes[0]: layer for layer in self.layers}
        nodes = [node for value in proto.graph.input for node in self._if_in(rounded, proto, value.name)]
        for node in self._samples.model.proto.graph.node:
            copy = type(node)()
            copy.CopyFrom(node)
            if node.output and node.output[0] in first:
                self._feed(proto, first[node.output[0]], copy)
            nodes.append(copy)
            for name in node.output:
                nodes += self._if_in(rounded, proto, name)
        del proto.graph.node[:]
        proto.graph.node.extend(nodes)
        return self._model(proto)

    def _operands(self) -> Iterator[str]:
        for layer in self.layers:
            yield from (layer.record.node.inputs[position] for position in layer.operands)

    def _start(self) -> ModelProto:
        """A copy of the model that may use operators of ONNX Runtime: its Quantize has 16 bits in every opset."""
        proto = type(self._samples.model.proto)()
        proto.CopyFrom(self._samples.model.proto)
        if all(opset.domain != _CONTRIB for opset in proto.opset_import):
            proto.opset_import.add(domain=_CONTRIB, version=1)
        return proto

    def _if_in(self, rounded: Mapping[str, None], proto: ModelProto, name: str) -> list[NodeProto]:
        return self._rounding(proto, name, name, _rounded_name(name)) if name in rounded else []

    def _rounding(self, proto: ModelProto, tensor: str, source: str, result: str) -> list[NodeProto]:
        """Two nodes that write `result`: the numbers of `source` on the grid of `tensor`."""
        from onnx import helper

        grid = self._grid_of(tensor)
        scale, zero, integers = f"{result}/scale", f"{result}/zero_point", f"{result}/integers"
        stored = helper.np_dtype_to_tensor_dtype(np.dtype(f"int{self._bits}"))
        proto.graph.initializer.append(helper.make_tensor(scale, 1, [], [grid.scale]))
        proto.graph.initializer.append(helper.make_tensor(zero, stored, [], [grid.zero_point]))
        return [
            helper.make_node("QuantizeLinear", [source, scale, zero], [integers], domain=_CONTRIB),
            helper.make_node("DequantizeLinear", [integers, scale, zero], [result], domain=_CONTRIB),
        ]

    def _feed(self, proto: ModelProto, layer: _FloatLayer, node: NodeProto) -> None:
        """Make a layer's node read rounded operands and constants."""
        from onnx import numpy_helper

        for position in layer.operands:
            node.input[position] = _rounded_name(node.input[position])
        for position, values in layer.constants.items():
            name = f"{_PREFIX}constant/{layer.nodes[0]}/{position}"
            proto.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
            node.input[position] = name

    def _model(self, proto: ModelProto) -> OnnxModel:
        return OnnxModel(proto.SerializeToString())


_CONTRIB = "com.microsoft"


def _rounded_name(tensor: str) -> str:
    return f"{_PREFIX}rounded/{tensor}"


def result_of(layer: _FloatLayer) -> str:
    """The tensor that a rounded copy of a layer writes."""
    return f"{_PREFIX}result/{layer.tensor}"


def rounding_errors(graph: Graph, lowered: Lowered, read: Read, samples: Samples, assume: str) -> RoundingErrors:
    """What the layers that compute in float lose as the type `assume`: s8, s16, or s4 for weights of 4 bits.

    Scales come from the least and the largest value over the samples. Weights have one scale for each output channel,
    in fully connected layers one; biases are not rounded, as they have 32 bits. Raises CalibrationError.
    """
    rounded = _RoundedModel(graph, lowered, read, samples, assume)
    if not rounded.layers:
        return RoundingErrors({}, {}, len(samples.feeds))
    pairs = {layer.record.node.index: (layer.tensor, result_of(layer)) for layer in rounded.layers}
    errors = {index: _Error() for index in pairs}
    for values in samples.run(rounded.apart(), [name for pair in pairs.values() for name in pair]):
        for index, (exact, result) in pairs.items():
            if exact in values:
                errors[index].add(values[exact], values[result])
    ends = [value.name for value in samples.model.proto.graph.output]
    own = {layer.tensor for layer in rounded.layers}
    together = samples.run(rounded.together(), [_rounded_name(name) if name in own else name for name in ends])
    outputs = {name: _Error() for name in ends}
    for floats, integers in zip(samples.run(samples.model, ends), together, strict=True):
        for (name, value), other in zip(floats.items(), integers.values(), strict=True):
            outputs[name].add(value, other)
    return RoundingErrors(
        {index: error.share for index, error in errors.items() if error.share is not None},
        {name: error.share for name, error in outputs.items() if error.share is not None},
        len(samples.feeds),
    )


class _Error:
    def __init__(self) -> None:
        self._values = self._errors = 0.0

    def add(self, exact: Any, rounded: Any) -> None:
        """Take note of one sample; of what are no floats, nothing."""
        if isinstance(exact, np.ndarray) and exact.dtype.kind == "f":
            values = exact.astype(np.float64)
            self._values += float(np.square(values).sum())
            self._errors += float(np.square(np.asarray(rounded, np.float64) - values).sum())

    @property
    def share(self) -> float | None:
        """The error as a share of the values; None where these are all 0 or not finite."""
        share = sqrt(self._errors / self._values) if self._values else inf
        return share if isfinite(share) else None
