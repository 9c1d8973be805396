"""Models in QOperator format as QDQ: an operator on integers becomes the one on real numbers that its record names.

QLinearConv becomes a Conv between DequantizeLinear and QuantizeLinear.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from firmware_check.reading.table import OPERATORS
from onnxlint_cmsis.formats.onnx_graph.proto_operators import operator_of_proto
from onnxlint_cmsis.operators.quantization_operators import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from onnxlint_cmsis.operators.roles import Form

if TYPE_CHECKING:
    from firmware_check.program import Elements, Program
    from onnxlint_cmsis.graph.model import Graph
    from onnxlint_cmsis.operators.record import Operator
    from onnxlint_cmsis.operators.roles import Quantized

Nodes = list[onnx.NodeProto]


_SOFTMAX_OF_ONE_AXIS = 13


def computed(operator: Operator) -> Operator | None:
    """Operator on real numbers that the firmware runs in place of one that carries its result's scale; else None."""
    real = operator.root
    carries = any(each.value < 0 and each.scale >= 0 for each in operator.roles.quantized)
    return real if operator is not real and carries and (real.domain, real.name) in OPERATORS else None


def is_operator_format(model: onnx.ModelProto) -> bool:
    """Whether a model has such operators."""
    return any(computed(operator_of_proto(node)) for node in model.graph.node)


def expand(path: str, folder: Path) -> Path:
    """Write the QDQ form of a model into `folder`; tensors of integers keep their names."""
    model = onnx.load(path)
    opset = next((each.version for each in model.opset_import if each.domain == ""), 1)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes: Nodes = []
    for number, node in enumerate(model.graph.node):
        real = computed(operator_of_proto(node))
        one = _Expansion(node, real, number, constants) if real else None
        if one is None or not _plain(node, opset) or not one.possible:
            nodes.append(node)
            continue
        nodes += one.nodes()
        model.graph.initializer.extend(one.made)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    target = folder / "qdq.onnx"
    onnx.save(model, target)
    return target


def named_as_given(program: Program, graph: Graph) -> Program:
    """The layers under the operators that the file has."""
    names = {node.label: node.op_type for node in graph.nodes}
    steps = (replace(step, op_type=names.get(step.label, step.op_type)) for step in program.steps)
    return replace(program, steps=tuple(steps))


def _plain(node: onnx.NodeProto, opset: int) -> bool:
    """Whether the operator is that of the default domain: channels second, Softmax as the model's opset has it."""
    numbers = {each.name: each.i for each in node.attribute}
    softmax = numbers.get("opset", opset)
    return not numbers.get("channels_last") and (softmax < _SOFTMAX_OF_ONE_AXIS) == (opset < _SOFTMAX_OF_ONE_AXIS)


class _Expansion:
    """One operator on integers in the making."""

    def __init__(self, node: onnx.NodeProto, real: Operator, number: int, constants: dict[str, Elements]) -> None:
        roles = operator_of_proto(node).roles
        self._node = node
        self._roles = roles
        self._operator = real
        quantized = sorted(roles.quantized_of(len(node.input)))
        self._operands = [each for each in quantized if each.value >= 0]
        self._result = quantized[0]
        self._label = node.name or f"{node.op_type}#{number}"
        self._real = f"{node.output[0]}_real_{number}"
        self._constants = constants
        self.made: list[onnx.TensorProto] = []

    @property
    def result(self) -> str:
        """Output of the operator on real numbers; the node's own where that is real."""
        return self._real if self._given(self._result.scale) else self._node.output[0]

    @property
    def possible(self) -> bool:
        """Whether the scale of a bias can be told."""
        scales = (self._node.input[each.scale] for each in self._operands)
        return not self._given(self._roles.bias) or all(name in self._constants for name in scales)

    def nodes(self) -> Iterator[onnx.NodeProto]:
        """DequantizeLinear of each operand, the operator, QuantizeLinear of its result."""
        node, bias = self._node, self._roles.bias
        inputs = []
        for operand in self._operands:
            inputs.append(f"{self._real}_{operand.value}")
            yield self._dequantize(operand, inputs[-1])
        if self._given(bias):
            inputs.append(f"{self._real}_{bias}")
            yield self._dequantize_bias(node.input[bias], inputs[-1])
        core = helper.make_node(self._operator.name, inputs, [self.result], self._label)
        core.attribute.extend(each for each in node.attribute if each.name not in ("channels_last", "opset"))
        yield core
        if self.result != node.output[0]:
            parameters = self._names(self.result, self._result)
            yield helper.make_node(QUANTIZE_LINEAR.name, parameters, [node.output[0]])

    def _given(self, place: int) -> bool:
        return 0 <= place < len(self._node.input) and bool(self._node.input[place])

    def _names(self, tensor: str, where: Quantized) -> list[str]:
        """A tensor with its scale, and its zero-point where that is given."""
        places = (where.scale, where.zero_point)
        return [tensor, *(self._node.input[place] for place in places if self._given(place))]

    def _dequantize(self, operand: Quantized, target: str) -> onnx.NodeProto:
        names = self._names(self._node.input[operand.value], operand)
        several = self._constants.get(names[1], np.zeros(1)).size > 1
        node = helper.make_node(DEQUANTIZE_LINEAR.name, names, [target])
        if several:
            node.attribute.append(helper.make_attribute("axis", self._scale_axis()))
        return node

    def _scale_axis(self) -> int:
        """Axis of output channels, which is the one that weights have scales along."""
        transposed = any(each.name == "transB" and each.i for each in self._node.attribute)
        return 0 if self._roles.form is Form.CONVOLUTION or transposed else 1

    def _dequantize_bias(self, tensor: str, target: str) -> onnx.NodeProto:
        """The bias is in units of input scale times weight scale."""
        scales = [self._constants[self._node.input[each.scale]].astype(np.float64) for each in self._operands]
        product = np.asarray(scales[0].reshape(-1) * scales[1].reshape(-1), np.float32)
        product = product if product.size > 1 else product.reshape(())
        self.made.append(numpy_helper.from_array(product, f"{target}_scale"))
        return helper.make_node(DEQUANTIZE_LINEAR.name, [tensor, f"{target}_scale"], [target], axis=0)
