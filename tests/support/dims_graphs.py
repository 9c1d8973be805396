"""Small ONNX models for the tests of dimension classes, and the proof that all a class consists of is resized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.analysis.constants import Fill, FillKind, fill
from onnxlint_cmsis.analysis.dimensions import Dimensions
from onnxlint_cmsis.analysis.risks import risks
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.model.axes import Axis, placement, resized
from onnxlint_cmsis.model.graph import Graph, Node
from support.linter import with_plan
from support.models import read


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

    def typed(self, value: np.ndarray, elem_type: int, name: str = "") -> str:
        """Constant of a type that numpy need not have."""
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(helper.make_tensor(name, elem_type, value.shape, value.reshape(-1).tolist()))
        return name

    def ints(self, *values: int) -> str:
        return self.const(list(values), np.int64)

    def weights(self, *shape: int, name: str = "") -> str:
        return self.const(self.random.uniform(0.1, 1.0, shape) * self.random.choice([-1, 1], shape), np.float32, name)

    def op(
        self, op_type: str, *inputs: str, out: int | Sequence[str] = 1, name: str = "", domain: str = "", **attributes
    ):
        name = name or f"{op_type.lower()}{len(self.nodes)}"
        outputs = [f"{name}_{index}" for index in range(out)] if isinstance(out, int) else list(out)
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
        return read(self.model(*outputs))

    def analyse(self, *outputs: str) -> Dimensions:
        return analyse(self.graph(*outputs))


def labels(dimensions: Dimensions, tensor: str, axis: int) -> list[str]:
    """Names of the layers that decide an axis that is one class."""
    group = dimensions.class_of(tensor, axis)
    return [decider.label for decider in group.deciders] if group is not None else []


def freedom(dimensions: Dimensions, tensor: str, axis: int) -> str:
    group = dimensions.class_of(tensor, axis)
    return group.freedom.value if group is not None else "none"


Kept = Mapping[int, tuple[int | None, ...]]


def resize(
    model: onnx.ModelProto, dimensions: Dimensions, kept: Kept, noise: np.random.Generator | None = None
) -> onnx.ModelProto:
    """The model with the given leaves resized, as `--fix` does it.

    With `noise`, new elements of float constants are anything, so that new lanes hold anything, but for weights that
    read a new lane, which stay 0, and constants whose new elements must not be 0. There is none where some operator
    is not defined on all numbers, as the classes then depend on what new lanes hold.
    """
    graph = read(model)
    result = with_plan(model, graph, dimensions, Plan(dict(kept)))
    if noise is not None and not risks(graph):
        _make_noise(result, graph, dimensions, kept, noise)
    return result


def _make_noise(
    model: onnx.ModelProto, graph: Graph, dimensions: Dimensions, kept: Kept, noise: np.random.Generator
) -> None:
    """Overwrite new elements; nodes keep their places when lanes are added, so the old graph tells what they are."""
    uses = Uses(graph, dimensions)
    homes = {tensor.name: tensor for tensor in model.graph.initializer}
    for changed in uses.by_key.values():
        for (index, position), axes in changed.items():
            tensor = homes.get(model.graph.node[index].input[position])
            node = graph.nodes[index]
            if tensor is None or tensor.data_type != TensorProto.FLOAT or fill(uses, node, position) != ZERO:
                continue
            array = numpy_helper.to_array(tensor).copy()
            new, reading = np.zeros(array.shape, bool), np.zeros(array.shape, bool)
            for axis, axis_lanes in enumerate(axes):
                rows = np.array([source is None for source in placement(axis_lanes, kept)])
                shaped = rows.reshape([-1 if dim == axis else 1 for dim in range(array.ndim)])
                (reading if axis == _reading_axis(node, position, axes) else new)[...] |= shaped
            array[new & ~reading] = noise.uniform(-1, 1, int((new & ~reading).sum()))
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


ZERO = Fill(FillKind.NUMBER, 0)


def _reading_axis(node: Node, position: int, axes: Sequence[Axis]) -> int | None:
    """Axis of a layer's weights that reads the input channels; none where it is depthwise."""
    group = node.int("group", 1)
    last = len(axes) - 1
    if position == 1 and node.op_type in ("Conv", "FusedConv"):
        return None if group > 1 and axes[1].size == 1 else 1
    if position == 1 and node.op_type == "ConvTranspose":
        return None if group == axes[0].size != 1 else 0
    table = {
        ("Gemm", 0): 1 - node.int("transA"),
        ("Gemm", 1): node.int("transB"),
        ("MatMul", 0): last,
        ("MatMul", 1): max(last - 1, 0),
    }
    return table.get((node.op_type, position))


def run(model: onnx.ModelProto, feed: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Outputs in ONNX Runtime, unoptimized."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(feed))


def check_shapes(model: onnx.ModelProto, dimensions: Dimensions, sizes: Mapping[int, int]) -> None:
    """Every shape that ONNX infers for the resized model is the one the axes predict; constants have one per use."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    constants = {node.output[0] for node in model.graph.node if node.op_type == "Constant"}
    for value in (*inferred.graph.value_info, *inferred.graph.output):
        if value.name in constants:
            continue
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
    dimensions = analyse(read(model))
    movable = [group for group in dimensions.classes if group.freedom is not Freedom.LOCKED]
    kept = {group.id: (*range(group.size), *[None] * more) for group in movable}
    changed = resize(model, dimensions, kept, np.random.default_rng(2))
    check_shapes(changed, dimensions, {group.id: group.size + more for group in movable})
    random = np.random.default_rng(1)
    feed = {}
    for value in build.inputs:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        feed[value.name] = random.uniform(0.1, 5, shape).astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    check_results(run(model, feed), run(changed, feed))
    return dimensions


def reasons(dimensions: Dimensions, tensor: str, axis: int) -> list[str]:
    return [str(lock) for lock in dimensions.locks(tensor, axis)]
