"""The numbers of a model that the linter never reads: weights, biases, scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import numpy_helper

from firmware_check.program import Quantization
from firmware_check.reading.unsupported import Unsupported

if TYPE_CHECKING:
    from onnxlint_cmsis.graph.model import Graph, Node

BITS = {"int8": 8, "uint8": 8, "int16": 16}
"""Element types that activations may have. uint8 becomes int8 by taking 128 off integers and zero-point alike."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Integer weights behind a DequantizeLinear."""

    integers: np.ndarray
    """int8, in the shape the layer sees."""
    scales: np.ndarray
    """float64, one value or one per index of `axis`."""
    axis: int
    """Axis of the scales in the shape the layer sees."""
    zero_point: int
    """Zero-point, the same for all."""

    def scales_along(self, axis: int, count: int) -> np.ndarray:
        """One scale per index of an axis."""
        if self.scales.size > 1 and self.axis != axis:
            raise Unsupported(f"its weights have scales along axis {self.axis}; CMSIS-NN knows output channels only")
        return np.broadcast_to(self.scales, (count,)) if self.scales.size == 1 else self.scales


class Constants:
    """Values fixed in a model, by tensor name."""

    def __init__(self, model: onnx.ModelProto, graph: Graph) -> None:
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self._tensors[node.output[0]] = node.attribute[0].t

    def known(self, name: str) -> bool:
        """Whether the tensor is fixed in the file."""
        return name in self._tensors

    def array(self, name: str) -> np.ndarray:
        """Elements of a constant."""
        if name not in self._tensors:
            raise Unsupported(f"'{name}' is computed; it has to be fixed in the file")
        return numpy_helper.to_array(self._tensors[name])

    def quantization(self, node: Node) -> Quantization:
        """Scale and zero-point of a QuantizeLinear or DequantizeLinear of an activation."""
        scale = self.array(node.inputs[1])
        if scale.size != 1:
            raise Unsupported(f"{scale.size} scales quantize an activation; one is supported")
        zero, elem_type = 0, "uint8"
        if len(node.inputs) > 2 and node.inputs[2]:
            zero = int(self.array(node.inputs[2]).reshape(-1)[0])
            elem_type = self._graph.elem_type(node.inputs[2]) or str(self.array(node.inputs[2]).dtype)
        if elem_type not in BITS:
            raise Unsupported(f"activations are {elem_type}; allowed are {', '.join(BITS)}")
        unsigned = elem_type == "uint8"
        value = float(_positive(scale).reshape(-1)[0])
        return Quantization(value, zero - 128 if unsigned else zero, BITS[elem_type], unsigned)

    def weights(self, tensor: str) -> Weights:
        """Integer weights behind a tensor, through what moves them."""
        moves: list[Node] = []
        node = self._graph.producers.get(tensor)
        while node is not None and node.is_op("Transpose", "Identity"):
            moves.append(node)
            node = self._graph.producers.get(node.inputs[0])
        if node is None or node.op_type != "DequantizeLinear":
            raise Unsupported(
                "its weights are not quantized; give a float model, or one with integer weights throughout"
            )
        found = self._dequantized(node)
        for move in reversed(moves):
            found = _moved(found, move)
        return found

    def _dequantized(self, node: Node) -> Weights:
        integers = self.array(node.inputs[0])
        scales = _positive(self.array(node.inputs[1])).astype(np.float64).reshape(-1)
        zeros = self.array(node.inputs[2]).reshape(-1) if len(node.inputs) > 2 and node.inputs[2] else np.zeros(1)
        if node.int("block_size"):
            raise Unsupported("its weights are quantized in blocks; CMSIS-NN has one scale for each output channel")
        if integers.dtype == np.uint8:
            integers, zeros = (integers.astype(np.int16) - 128).astype(np.int8), zeros.astype(np.int16) - 128
        if integers.dtype != np.int8:
            raise Unsupported(f"its weights are {integers.dtype}; int8 is supported")
        if np.unique(zeros).size != 1:
            raise Unsupported("its weights have several zero-points; CMSIS-NN has none or one")
        axis = node.int("axis", 1) % max(integers.ndim, 1)
        return Weights(integers, scales, axis, int(zeros[0]))

    def real(self, tensor: str) -> np.ndarray:
        """A float constant, dequantized where it is stored in integers."""
        if self.known(tensor):
            return self.array(tensor).astype(np.float64)
        node = self._graph.producers.get(tensor)
        if node is None or node.op_type != "DequantizeLinear":
            raise Unsupported(f"'{tensor}' is computed; it has to be fixed in the file")
        integers, scale = self.array(node.inputs[0]).astype(np.float64), self.array(node.inputs[1]).astype(np.float64)
        zero = self.array(node.inputs[2]).astype(np.float64) if len(node.inputs) > 2 and node.inputs[2] else np.zeros(1)
        if scale.size > 1:
            shape = [-1 if axis == node.int("axis", 1) % integers.ndim else 1 for axis in range(integers.ndim)]
            scale, zero = scale.reshape(shape), zero.reshape(shape if zero.size > 1 else [1] * integers.ndim)
        return np.asarray((integers - zero) * scale)

    def fixed(self, tensor: str) -> bool:
        """Whether a tensor is a constant, as it is or behind a DequantizeLinear."""
        if self.known(tensor):
            return True
        node = self._graph.producers.get(tensor)
        return node is not None and node.op_type == "DequantizeLinear" and self.known(node.inputs[0])


def _positive(scales: np.ndarray) -> np.ndarray:
    wrong = scales[~((scales > 0) & np.isfinite(scales))]
    if wrong.size:
        raise Unsupported(f"a scale of its quantization is {wrong.reshape(-1)[0]}; scales are finite and above 0")
    return scales


def _moved(weights: Weights, node: Node) -> Weights:
    if node.op_type == "Identity":
        return weights
    order = node.ints("perm") or tuple(reversed(range(weights.integers.ndim)))
    axis = order.index(weights.axis) if weights.axis in order else weights.axis
    return Weights(weights.integers.transpose(order), weights.scales, axis, weights.zero_point)
