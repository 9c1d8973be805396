"""Small ONNX models for the tests of dimension classes, and a resizer that edits all a class says it consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.dims.axes import Axis, placement, resized
from onnxlint_cmsis.dims.classes import Dimensions, analyse
from onnxlint_cmsis.onnx_graph.graph import Graph
from onnxlint_cmsis.onnx_graph.load import load

FILL_ONE = {
    "BatchNormalization": (1, 4),
    "Div": (1,),
    "QuantizeLinear": (1,),
    "DequantizeLinear": (1,),
    "QLinearConv": (4,),
}
"""Inputs whose new elements have to be positive."""


class Builder:
    """Collects nodes and initializers; every method that adds a node returns its output's name."""

    def __init__(self, opset: int = 17, seed: int = 0) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[str] = []
        self.random = np.random.default_rng(seed)

    def input(self, name: str, *shape: int | str | None, elem_type: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, elem_type, list(shape)))
        return name

    def const(self, value: object, dtype: object = None, name: str = "") -> str:
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def ints(self, *values: int) -> str:
        return self.const(list(values), np.int64)

    def weights(self, *shape: int, name: str = "") -> str:
        return self.const(self.random.uniform(0.1, 1.0, shape) * self.random.choice([-1, 1], shape), np.float32, name)

    def op(self, op_type: str, *inputs: str, out: int | Sequence[str] = 1, name: str = "", domain: str = "", **attributes):
        name = name or f"{op_type.lower()}{len(self.nodes)}"
        outputs = [f"{name}_{place}" for place in range(out)] if isinstance(out, int) else list(out)
        self.nodes.append(helper.make_node(op_type, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def conv(self, data: str, columns: int, rows: int, kernel: int = 1, name: str = "", **attributes) -> str:
        """Conv2d with weights [rows, columns, kernel, kernel] and a bias."""
        pads = [kernel // 2] * 4
        return self.op(
            "Conv",
            data,
            self.weights(rows, columns, kernel, kernel),
            self.weights(rows),
            name=name,
            kernel_shape=[kernel] * 2,
            pads=pads,
            **attributes,
        )

    def model(self, *outputs: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "test",
            self.inputs,
            [helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
            self.initializers,
        )
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        inferred = onnx.shape_inference.infer_shapes(model)
        if all(output.type.WhichOneof("value") for output in inferred.graph.output):
            return inferred
        return model

    def graph(self, *outputs: str) -> Graph:
        return load("test.onnx", data=self.model(*outputs).SerializeToString())

    def analyse(self, *outputs: str) -> Dimensions:
        return analyse(self.graph(*outputs))


def labels(dimensions: Dimensions, tensor: str, axis: int) -> list[str]:
    """Names of the layers that decide an axis that is one class."""
    found = dimensions.class_of(tensor, axis)
    return [decider.label for decider in found.deciders] if found is not None else []


def freedom(dimensions: Dimensions, tensor: str, axis: int) -> str:
    found = dimensions.class_of(tensor, axis)
    return found.freedom.value if found is not None else "none"


Kept = Mapping[int, Sequence[int | None]]


def resize(
    model: onnx.ModelProto, dimensions: Dimensions, kept: Kept, noise: np.random.Generator | None = None
) -> onnx.ModelProto:
    """The model with the given leaves resized everywhere: constants, and numbers that name sizes.

    New elements are 0 or, where `FILL_ONE` says so, 1. With `noise`, they are anything, so that new lanes hold
    anything, except for weights that read a new lane, which stay 0.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.value_info[:]
    _name_sizes(result, dimensions, {leaf: len(lanes) for leaf, lanes in kept.items()})
    old = {tensor.name: numpy_helper.to_array(tensor) for tensor in result.graph.initializer}
    new: dict[str, np.ndarray] = {}
    for index, node in enumerate(result.graph.node):
        for position, name in enumerate(node.input):
            if name not in old:
                continue
            axes = dimensions.input_axes(index, position) or dimensions.axes(name)
            array = old[name] if axes is None else _grown(old[name], axes, kept, _fillers(node, position, axes, noise))
            copy = f"{name}/{index}/{position}" if dimensions.input_axes(index, position) is not None else name
            node.input[position] = copy
            assert copy not in new or np.array_equal(new[copy], array)
            new[copy] = array
    del result.graph.initializer[:]
    result.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in new.items())
    return result


Filler = Callable[[tuple[int, ...]], object]


def _fillers(
    node: onnx.NodeProto, position: int, axes: Sequence[Axis], noise: np.random.Generator | None
) -> list[Filler]:
    """What to put into the new elements along each axis, the last axis having the last word."""
    if position in FILL_ONE.get(node.op_type, ()):
        return [lambda _shape: 1] * len(axes)
    if noise is None or node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        return [lambda _shape: 0] * len(axes)
    fillers: list[Filler] = [lambda shape: noise.uniform(-1, 1, shape)] * len(axes)
    reading = _reading_axis(node, axes) if position == 1 else None
    if reading is not None:
        fillers[reading] = lambda _shape: 0
    return fillers


def _reading_axis(node: onnx.NodeProto, axes: Sequence[Axis]) -> int | None:
    """Axis of a layer's weights that reads the input channels; none where it is depthwise."""
    given = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type == "Conv":
        return None if given.get("group", 1) > 1 and axes[1].size == 1 else 1
    if node.op_type == "ConvTranspose":
        return None if given.get("group", 1) == axes[0].size != 1 else 0
    return {"Gemm": given.get("transB", 0), "MatMul": len(axes) - 2}.get(node.op_type)


def _grown(array: np.ndarray, axes: Sequence[Axis], kept: Kept, fillers: Sequence[Filler]) -> np.ndarray:
    zero_last = sorted(range(len(axes)), key=lambda position: fillers[position]((1,)) == 0)
    for position in zero_last:
        places = placement(axes[position], kept)
        new = np.array([place is None for place in places])
        taken = np.take(array, [place or 0 for place in places], axis=position)
        index: list[object] = [slice(None)] * array.ndim
        index[position] = new
        taken[tuple(index)] = fillers[position](taken[tuple(index)].shape)
        array = taken
    return array


def _name_sizes(model: onnx.ModelProto, dimensions: Dimensions, sizes: Mapping[int, int]) -> None:
    arrays = {tensor.name: numpy_helper.to_array(tensor).copy() for tensor in model.graph.initializer}
    for named in dimensions.size_names:
        value = named.sign * sum(resized(part, sizes) or 0 for part in named.parts)
        node = model.graph.node[named.node]
        if named.position >= 0 and named.tensor in arrays:
            flat = arrays[named.tensor].reshape(-1)
            flat[named.index] = value
        elif named.position < 0:
            attribute = next(one for one in node.attribute if one.name == named.attribute)
            if attribute.type == onnx.AttributeProto.INT:
                attribute.i = value
            else:
                attribute.ints[named.element] = value
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(arrays[tensor.name], tensor.name))
