"""Models in QOperator format as QDQ: QLinearConv becomes a Conv between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from firmware_check.program import Elements, Program
from firmware_check.reading.builders import OPERATORS
from onnxlint_cmsis.formats.onnx.proto_records import operator_of_proto
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.roles import Form, Quantized
from onnxlint_cmsis.operators.quantization import DEQUANTIZE_LINEAR, QUANTIZE_LINEAR
from onnxlint_cmsis.operators.record import Operator

Nodes = list[onnx.NodeProto]


_SOFTMAX_OF_ONE_AXIS = 13


def computed(operator: Operator) -> Operator | None:
    """Operator on real numbers that the firmware runs in place of one that carries its result's scale; else None."""
    real = operator.root
    carries = any(tie.value < 0 and tie.scale >= 0 for tie in operator.roles.quantized)
    return real if operator is not real and carries and (real.domain, real.name) in OPERATORS else None


def is_operator_format(model: onnx.ModelProto) -> bool:
    """Tell whether a model has such operators."""
    return any(computed(operator_of_proto(node)) for node in model.graph.node)


def expand(path: str, folder: Path) -> Path:
    """Write the QDQ form of a model into `folder`; tensors of integers keep their names."""
    model = onnx.load(path)
    opset = next((opset.version for opset in model.opset_import if opset.domain == ""), 1)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes: Nodes = []
    for number, node in enumerate(model.graph.node):
        real = computed(operator_of_proto(node))
        expansion = _Expansion(node, real, number, constants) if real else None
        if expansion is None or not _plain(node, opset) or not expansion.possible:
            nodes.append(node)
            continue
        nodes += expansion.nodes()
        model.graph.initializer.extend(expansion.initializers)
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
    """Tell whether the operator is that of the default domain: channels second, Softmax as the model's opset has it."""
    numbers = {attribute.name: attribute.i for attribute in node.attribute}
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
        self._operands = [operand for operand in quantized if operand.value >= 0]
        self._result = quantized[0]
        self._label = node.name or f"{node.op_type}#{number}"
        self._real = f"{node.output[0]}_real_{number}"
        self._constants = constants
        self.initializers: list[onnx.TensorProto] = []

    @property
    def result(self) -> str:
        """Output of the operator on real numbers; the node's own where that is real."""
        return self._real if self._given(self._result.scale) else self._node.output[0]

    @property
    def possible(self) -> bool:
        """Tell whether the scale of a bias can be told."""
        scales = (self._node.input[operand.scale] for operand in self._operands)
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
        core.attribute.extend(
            attribute for attribute in node.attribute if attribute.name not in ("channels_last", "opset")
        )
        yield core
        if self.result != node.output[0]:
            parameters = self._names(self.result, self._result)
            yield helper.make_node(QUANTIZE_LINEAR.name, parameters, [node.output[0]])

    def _given(self, position: int) -> bool:
        return 0 <= position < len(self._node.input) and bool(self._node.input[position])

    def _names(self, tensor: str, where: Quantized) -> list[str]:
        """A tensor with its scale, and its zero-point where that is given."""
        places = (where.scale, where.zero_point)
        return [tensor, *(self._node.input[position] for position in places if self._given(position))]

    def _dequantize(self, operand: Quantized, target: str) -> onnx.NodeProto:
        names = self._names(self._node.input[operand.value], operand)
        node = helper.make_node(DEQUANTIZE_LINEAR.name, names, [target])
        if self._constants.get(names[1], np.zeros(1)).size > 1:  # weights, with scales along the output channels
            transposed = any(attribute.name == "transB" and attribute.i for attribute in self._node.attribute)
            axis = 0 if self._roles.form is Form.CONVOLUTION or transposed else 1
            node.attribute.append(helper.make_attribute("axis", axis))
        return node

    def _dequantize_bias(self, tensor: str, target: str) -> onnx.NodeProto:
        """The bias is in units of input scale times weight scale."""
        scales = [self._constants[self._node.input[operand.scale]].astype(np.float64) for operand in self._operands]
        product = np.asarray(scales[0].reshape(-1) * scales[1].reshape(-1), np.float32)
        product = product if product.size > 1 else product.reshape(())
        self.initializers.append(numpy_helper.from_array(product, f"{target}_scale"))
        return helper.make_node(DEQUANTIZE_LINEAR.name, [tensor, f"{target}_scale"], [target], axis=0)
