"""Models in QOperator format as QDQ: QLinearConv becomes a Conv between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from firmware_check.program import Elements, Program
    from onnxlint_cmsis.graph.model import Graph

Nodes = list[onnx.NodeProto]


class OperatorFormat(NamedTuple):
    """One operator on integers; an operand is a tensor with scale and zero-point behind it."""

    op_type: str
    """Operator on real numbers that it computes."""
    operands: tuple[int, ...]
    """Positions of the operands' tensors."""
    result: int
    """Position of the output's scale, its zero-point behind it."""
    bias: int = -1
    """Position of an int32 bias, -1 where it takes none."""
    more: int = 0
    """Positions from one operand to the next where there may be any number of them, 0 where not."""


_MS = "com.microsoft"

ROWS: dict[tuple[str, str], OperatorFormat] = {
    ("", "QLinearConv"): OperatorFormat("Conv", (0, 3), 6, 8),
    ("", "QLinearMatMul"): OperatorFormat("MatMul", (0, 3), 6),
    (_MS, "QGemm"): OperatorFormat("Gemm", (0, 3), 7, 6),
    (_MS, "QLinearAdd"): OperatorFormat("Add", (0, 3), 6),
    (_MS, "QLinearMul"): OperatorFormat("Mul", (0, 3), 6),
    (_MS, "QLinearAveragePool"): OperatorFormat("AveragePool", (0,), 3),
    (_MS, "QLinearGlobalAveragePool"): OperatorFormat("GlobalAveragePool", (0,), 3),
    (_MS, "QLinearSigmoid"): OperatorFormat("Sigmoid", (0,), 3),
    (_MS, "QLinearLeakyRelu"): OperatorFormat("LeakyRelu", (0,), 3),
    (_MS, "QLinearSoftmax"): OperatorFormat("Softmax", (0,), 3),
    (_MS, "QLinearConcat"): OperatorFormat("Concat", (2,), 0, more=3),
}
"""Every operator that is read in this way."""

_SOFTMAX_OF_ONE_AXIS = 13


def is_operator_format(model: onnx.ModelProto) -> bool:
    """Whether a model has such operators."""
    return any((node.domain, node.op_type) in ROWS for node in model.graph.node)


def expand(path: str, folder: Path) -> Path:
    """Write the QDQ form of a model into `folder`; tensors of integers keep their names."""
    model = onnx.load(path)
    opset = next((each.version for each in model.opset_import if each.domain == ""), 1)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes: Nodes = []
    for number, node in enumerate(model.graph.node):
        row = ROWS.get((node.domain, node.op_type))
        one = _Expansion(node, row, number, constants) if row else None
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

    def __init__(self, node: onnx.NodeProto, row: OperatorFormat, number: int, constants: dict[str, Elements]) -> None:
        self._node = node
        self._row = row
        self._label = node.name or f"{node.op_type}#{number}"
        self._real = f"{node.output[0]}_real_{number}"
        self._constants = constants
        self.made: list[onnx.TensorProto] = []

    @property
    def result(self) -> str:
        """Output of the operator on real numbers; the node's own where that is real."""
        return self._real if self._given(self._row.result) else self._node.output[0]

    @property
    def possible(self) -> bool:
        """Whether the scale of a bias can be told."""
        scales = (self._node.input[place + 1] for place in self._row.operands)
        return not self._given(self._row.bias) or all(name in self._constants for name in scales)

    def nodes(self) -> Iterator[onnx.NodeProto]:
        """DequantizeLinear of each operand, the operator, QuantizeLinear of its result."""
        node, row = self._node, self._row
        inputs = []
        for place in self._operands():
            inputs.append(f"{self._real}_{place}")
            yield self._dequantize(place, inputs[-1])
        if self._given(row.bias):
            inputs.append(f"{self._real}_{row.bias}")
            yield self._dequantize_bias(node.input[row.bias], inputs[-1])
        core = helper.make_node(row.op_type, inputs, [self.result], self._label)
        core.attribute.extend(each for each in node.attribute if each.name not in ("channels_last", "opset"))
        yield core
        if self.result != node.output[0]:
            parameters = [self.result, *node.input[row.result : row.result + 2]]
            yield helper.make_node("QuantizeLinear", _without_omitted(parameters), [node.output[0]])

    def _given(self, place: int) -> bool:
        return 0 <= place < len(self._node.input) and bool(self._node.input[place])

    def _operands(self) -> tuple[int, ...]:
        row = self._row
        return tuple(range(row.operands[0], len(self._node.input), row.more)) if row.more else row.operands

    def _dequantize(self, place: int, target: str) -> onnx.NodeProto:
        names = self._node.input[place : place + 3]
        several = self._constants.get(names[1], np.zeros(1)).size > 1
        node = helper.make_node("DequantizeLinear", _without_omitted(names), [target])
        if several:
            node.attribute.append(helper.make_attribute("axis", self._scale_axis()))
        return node

    def _scale_axis(self) -> int:
        """Axis of output channels, which is the one that weights have scales along."""
        transposed = any(each.name == "transB" and each.i for each in self._node.attribute)
        return 0 if self._row.op_type == "Conv" or transposed else 1

    def _dequantize_bias(self, tensor: str, target: str) -> onnx.NodeProto:
        """The bias is in units of input scale times weight scale."""
        scales = [self._constants[self._node.input[place + 1]].astype(np.float64) for place in self._row.operands]
        product = np.asarray(scales[0].reshape(-1) * scales[1].reshape(-1), np.float32)
        product = product if product.size > 1 else product.reshape(())
        self.made.append(numpy_helper.from_array(product, f"{target}_scale"))
        return helper.make_node("DequantizeLinear", [tensor, f"{target}_scale"], [target], axis=0)


def _without_omitted(names: Sequence[str]) -> list[str]:
    """Inputs without an empty last one, which stands for a zero-point that is not given."""
    return [name for name in names if name]
