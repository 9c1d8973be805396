"""Small ONNX models for the tests of dimension classes, and a resizer that edits all a class says it consists of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.dims.axes import Axis, placement, resized
from onnxlint_cmsis.dims.classes import Dimensions, analyse
from onnxlint_cmsis.onnx_graph.graph import Graph
from onnxlint_cmsis.onnx_graph.load import load
from onnxlint_cmsis.types import Freedom

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

    def op(
        self, op_type: str, *inputs: str, out: int | Sequence[str] = 1, name: str = "", domain: str = "", **attributes
    ):
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
        domains = sorted({node.domain for node in self.nodes} - {""})
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
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
            array = old[name]
            if axes is not None:
                zero = _zero_point(node, position, old)
                array = _grown(array, axes, kept, _fillers(node, position, axes, noise, zero))
            copy = f"{name}/{index}/{position}" if dimensions.input_axes(index, position) is not None else name
            node.input[position] = copy
            assert copy not in new or np.array_equal(new[copy], array)
            new[copy] = array
    del result.graph.initializer[:]
    result.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in new.items())
    return result


Filler = Callable[[tuple[int, ...]], object]


def _fillers(
    node: onnx.NodeProto, position: int, axes: Sequence[Axis], noise: np.random.Generator | None, zero: int
) -> list[Filler]:
    """What to put into the new elements along each axis, the last axis having the last word."""
    if position in FILL_ONE.get(node.op_type, ()):
        return [lambda _shape: 1] * len(axes)
    if noise is None or node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        return [lambda _shape: zero] * len(axes)
    fillers: list[Filler] = [lambda shape: noise.uniform(-1, 1, shape)] * len(axes)
    reading = _reading_axis(node, position, axes)
    if reading is not None:
        fillers[reading] = lambda _shape: zero
    return fillers


ZERO_POINTS = {
    ("DequantizeLinear", 0): 2,
    ("ConvInteger", 1): 3,
    ("MatMulInteger", 1): 3,
    ("QLinearConv", 3): 5,
    ("QLinearMatMul", 3): 5,
}
"""Quantized weights, and the input that holds their zero-point."""


def _zero_point(node: onnx.NodeProto, position: int, arrays: Mapping[str, np.ndarray]) -> int:
    """Zero-point of quantized weights, which is one for all channels here; 0 for anything else."""
    holder = ZERO_POINTS.get((node.op_type, position), len(node.input))
    given = arrays.get(node.input[holder]) if holder < len(node.input) else None
    return int(given.reshape(-1)[0]) if given is not None and given.size else 0


def _reading_axis(node: onnx.NodeProto, position: int, axes: Sequence[Axis]) -> int | None:
    """Axis of a layer's weights that reads the input channels; none where it is depthwise."""
    given = {attribute.name: attribute.i for attribute in node.attribute}
    group = given.get("group", 1)
    last = len(axes) - 1
    if position == 1 and node.op_type in ("Conv", "FusedConv", "ConvInteger"):
        return None if group > 1 and axes[1].size == 1 else 1
    if position == 1 and node.op_type == "ConvTranspose":
        return None if group == axes[0].size != 1 else 0
    table = {
        ("QLinearConv", 3): 1,
        ("Gemm", 0): 1 - given.get("transA", 0),
        ("Gemm", 1): given.get("transB", 0),
        ("MatMul", 0): last,
        ("MatMul", 1): max(last - 1, 0),
        ("MatMulInteger", 1): last - 1,
    }
    return table.get((node.op_type, position))


def _grown(array: np.ndarray, axes: Sequence[Axis], kept: Kept, fillers: Sequence[Filler]) -> np.ndarray:
    zero_last = sorted(range(len(axes)), key=lambda position: isinstance(fillers[position]((1,)), int))
    for position in zero_last:
        places = placement(axes[position], kept)
        new = np.array([place is None for place in places], dtype=bool)
        taken = np.take(array, [place or 0 for place in places], axis=position)
        index: list[object] = [slice(None)] * array.ndim
        index[position] = new
        taken[tuple(index)] = fillers[position](taken[tuple(index)].shape)
        array = taken
    return array


def _name_sizes(model: onnx.ModelProto, dimensions: Dimensions, sizes: Mapping[int, int]) -> None:
    """Write the new sizes where the file names them; a constant that several nodes read is copied for each."""
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    new: dict[str, np.ndarray] = {}
    for named in dimensions.size_names:
        value = named.sign * sum(resized(part, sizes) or 0 for part in named.parts)
        node = model.graph.node[named.node]
        if named.position < 0:
            _write_attribute(node, named.attribute, named.element, value)
        elif named.tensor:
            direct = node.input[named.position] in (named.tensor, f"{named.tensor}/{named.node}")
            name = f"{named.tensor}/{named.node}" if direct else named.tensor
            new.setdefault(name, arrays[named.tensor].copy()).reshape(-1)[named.index] = value
            if direct:
                node.input[named.position] = name
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in new]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in new.items())


def _write_attribute(node: onnx.NodeProto, name: str, element: int, value: int) -> None:
    attribute = next(one for one in node.attribute if one.name == name)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = value
    else:
        attribute.ints[element] = value


def run(model: onnx.ModelProto, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Outputs in ONNX Runtime, unoptimized."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(feed))


def check_shapes(model: onnx.ModelProto, dimensions: Dimensions, sizes: Mapping[int, int]) -> None:
    """Every shape that ONNX infers for the resized model is the one the axes predict."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    for value in (*inferred.graph.value_info, *inferred.graph.output):
        for dim, axis in zip(value.type.tensor_type.shape.dim, dimensions.axes(value.name) or (), strict=False):
            predicted = resized(axis, sizes)
            assert None in (dim.dim_value or None, predicted) or dim.dim_value == predicted, (value.name, axis)


def check_results(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> None:
    """Outputs agree to float accuracy."""
    for old, new in zip(before, after, strict=True):
        scale = float(np.abs(old, dtype=np.float64).max(initial=0)) if old.dtype != bool else 1.0
        np.testing.assert_allclose(new, old, rtol=1e-3, atol=1e-4 * max(1.0, scale))


def prove(build: Builder, *outputs: str, more: int = 1) -> Dimensions:
    """Analyse the model; make every class that may change larger and see that shapes and results follow."""
    model = build.model(*outputs)
    dimensions = analyse(load("test.onnx", data=model.SerializeToString()))
    movable = [one for one in dimensions.classes if one.freedom is not Freedom.LOCKED]
    kept = {one.id: (*range(one.size), *[None] * more) for one in movable}
    changed = resize(model, dimensions, kept, np.random.default_rng(2))
    check_shapes(changed, dimensions, {one.id: one.size + more for one in movable})
    random = np.random.default_rng(1)
    feed = {}
    for value in build.inputs:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        feed[value.name] = random.uniform(0.1, 5, shape).astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    check_results(run(model, feed), run(changed, feed))
    return dimensions
