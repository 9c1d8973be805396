"""The numbers of a model that the linter never reads: weights and biases."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import numpy_helper

from firmware_check.reading.unreadable import Unsupported
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.answers import Elements
from onnxlint_cmsis.operators.control import CONSTANT


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """Integer weights behind a DequantizeLinear, as the device holds them: uint8 less 128."""

    integers: np.ndarray
    """int8, in the shape the layer sees."""
    scales: np.ndarray
    """float64, one value or one per output channel."""
    zero_point: int
    """Zero-point, the same for all."""
    narrow: bool = False
    """Whether they are of 4 bits, two to a byte on the device."""

    def scales_of(self, count: int) -> np.ndarray:
        """One scale for each output channel."""
        return np.broadcast_to(self.scales, (count,)) if self.scales.size == 1 else self.scales


class StoredNumbers:
    """Values fixed in a model, by tensor name."""

    def __init__(self, model: onnx.ModelProto, graph: Graph) -> None:
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if operator_of_proto(node) is CONSTANT and node.attribute and node.attribute[0].name == "value":
                self._tensors[node.output[0]] = node.attribute[0].t

    def array(self, name: str) -> np.ndarray:
        """Elements of a constant."""
        if name in self._tensors:
            return numpy_helper.to_array(self._tensors[name])
        node = self._graph.producers.get(name)
        if node is not None and operator_of(node).quantizes and self.fixed(node.inputs[0]):
            return self._quantized(node)
        constant = self._graph.constants.get(name)  # worked out from others
        values = constant.values() if constant else None
        if constant is None or values is None:
            raise Unsupported(f"'{name}' is computed; it has to be fixed in the file")
        return np.array(values).reshape(constant.shape)

    def weights(self, tensor: str) -> IntegerWeights:
        """Integer weights behind a tensor, through what moves them."""
        moves: list[Node] = []
        node = self._graph.producers.get(tensor)
        while node is not None and operator_of(node).elements in (Elements.SAME, Elements.TRANSPOSED):
            moves.append(node)
            node = self._graph.producers.get(node.inputs[0])
        if node is None or not operator_of(node).dequantizes:
            raise Unsupported("its weights are not quantized")
        numbers = self._dequantized(node)
        for move in reversed(moves):
            if operator_of(move).elements is Elements.TRANSPOSED:
                order = move.permutation(numbers.integers.ndim)
                if order is None:
                    raise Unsupported(f"{move.label} has no order of {numbers.integers.ndim} axes as perm")
                numbers = replace(numbers, integers=numbers.integers.transpose(order))
        return numbers

    def _dequantized(self, node: Node) -> IntegerWeights:
        integers = self.array(node.inputs[0])
        scales = self.array(node.inputs[1]).astype(np.float64).reshape(-1)
        zeros = self.array(node.inputs[2]).reshape(-1) if node.inputs[2] else np.zeros(1)
        if integers.dtype == np.uint8:
            integers, zeros = (integers.astype(np.int16) - 128).astype(np.int8), zeros.astype(np.int16) - 128
        narrow = integers.dtype.name == "int4"
        integers = integers.astype(np.int8) if narrow else integers
        if integers.dtype != np.int8:
            raise Unsupported(f"this firmware has no call for weights of {integers.dtype}")
        return IntegerWeights(integers, scales, int(zeros[0]), narrow)

    def _quantized(self, node: Node) -> np.ndarray:
        """Integers that a QuantizeLinear makes of a constant at run time."""
        real, scale = self.real(node.inputs[0]), self.array(node.inputs[1])
        zero = self.array(node.inputs[2]) if node.inputs[2] else np.zeros(1, np.uint8)
        shape = _along(scale, node, real.ndim)
        steps = np.rint(real.astype(np.float32) / scale.reshape(shape)) + zero.reshape(shape)
        limits = np.iinfo(zero.dtype)
        return np.asarray(np.clip(steps, limits.min, limits.max), zero.dtype)

    def real(self, tensor: str) -> np.ndarray:
        """A float constant, dequantized where it is stored in integers."""
        node = self._graph.producers.get(tensor)
        if node is None or not operator_of(node).dequantizes:
            return self.array(tensor).astype(np.float64)
        integers, scale = self.array(node.inputs[0]).astype(np.float64), self.array(node.inputs[1]).astype(np.float64)
        zero = self.array(node.inputs[2]).astype(np.float64) if node.inputs[2] else np.zeros(1)
        if scale.size > 1:
            shape = _along(scale, node, integers.ndim)
            scale, zero = scale.reshape(shape), zero.reshape(shape if zero.size > 1 else [1] * integers.ndim)
        return np.asarray((integers - zero) * scale)

    def fixed(self, tensor: str) -> bool:
        """Tell whether a tensor is a constant, as it is or behind a DequantizeLinear."""
        if tensor in self._tensors or tensor in self._graph.constants:
            return True
        node = self._graph.producers.get(tensor)
        if node is None or not (operator_of(node).quantizes or operator_of(node).dequantizes):
            return False
        return self.fixed(node.inputs[0])


def _along(scale: np.ndarray, node: Node, rank: int) -> list[int]:
    """Shape in which one scale or several go with a tensor: along the node's axis."""
    several = scale.size > 1
    return [-1 if several and axis == node.int("axis", 1) % rank else 1 for axis in range(rank)]
