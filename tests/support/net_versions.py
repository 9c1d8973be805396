"""One small net in many versions and three forms: float and QDQ `.onnx`, and `.tflite`; each layer knows its own name.

The weights of a layer belong to its name, so that it keeps them wherever it stands and whatever is written around it.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from support.tflite_chains import Chain

OPSET = 13
SIDE = 6
"""Rows and columns of every image."""
ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
BUILTIN = {"sigmoid": "LOGISTIC", "tanh": "TANH", "relu": "RELU", "pool": "MAX_POOL_2D", "add": "ADD"}
OPTIONS = {
    "pool": ("Pool2DOptions", {"padding": "SAME", "stride_w": 1, "stride_h": 1, "filter_width": 3, "filter_height": 3}),
    "add": ("AddOptions", {}),
}


class Layer(NamedTuple):
    """One layer of a net."""

    name: str
    """What it is, in all versions."""
    kind: str
    """conv, one of ACTIVATIONS, pool, add or concat."""
    inputs: tuple[str, ...]
    """Layers that it reads; `x` is the input."""
    width: int = 8
    """Channels of a convolution."""


@dataclass(frozen=True)
class Net:
    """A net and how it is written."""

    layers: tuple[Layer, ...]
    names: str = "{}"
    """Pattern of the names in the file."""
    numbered: bool = False
    """Whether tensors have numbers in place of names, and nodes none."""
    noise: float = 0.0
    """How far weights are from the usual ones, as a share of their spread."""
    per_channel: bool = True
    """Whether weights have a scale for each channel."""
    step: float = 0.05
    """Scale of activations."""
    transposed: bool = False
    """Whether an ONNX file stores weights in another order, and transposes them."""
    opset: int = OPSET
    """Operator set; of a `.tflite` file the version of its operators."""
    first: frozenset[str] = field(default_factory=frozenset)
    """Layers that stand as early as they can."""

    def ordered(self) -> list[Layer]:
        """Layers in file order."""
        left, done, rows = list(self.layers), {"x"}, []
        while left:
            ready = [layer for layer in left if {*layer.inputs} <= done]
            layer = next((layer for layer in ready if layer.name in self.first), ready[0])
            left.remove(layer)
            done.add(layer.name)
            rows.append(layer)
        return rows

    def title(self, layer: str) -> str:
        """A layer's name in the file."""
        if layer == "x":
            return "x"
        number = [row.name for row in self.ordered()].index(layer)
        return f"{number + 7}" if self.numbered else self.names.format(layer)

    def last(self) -> str:
        """The layer that nothing reads."""
        read = {name for layer in self.layers for name in layer.inputs}
        return next(layer.name for layer in self.layers if layer.name not in read)


def weights_of(net: Net, layer: Layer, depth: int) -> np.ndarray:
    """Real weights, output channels first: those of a wider layer begin with those of the narrow one."""
    generator = np.random.default_rng(zlib.crc32(layer.name.encode()))
    most = generator.normal(size=(32, 32, 3, 3)) * generator.uniform(0.5, 2, (32, 1, 1, 1))
    values = most[: layer.width, :depth]
    noise = np.random.default_rng(1).normal(size=values.shape) * values.std() * net.noise
    return np.asarray(values + noise)


def widths(net: Net) -> dict[str, int]:
    """Channels of each layer's result."""
    known = {"x": 4}
    for layer in net.ordered():
        inputs = [known[name] for name in layer.inputs]
        joined = sum(inputs) if layer.kind == "concat" else inputs[0]
        known[layer.name] = layer.width if layer.kind == "conv" else joined
    return known


def quantized(net: Net, values: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """int8 weights and their scales."""
    axes = tuple(range(1, values.ndim)) if net.per_channel else None
    scales = np.abs(values).max(axes) / 127
    integers = np.round(values / np.reshape(scales, (-1, *[1] * (values.ndim - 1)))).astype(np.int8)
    return integers, [float(scale) for scale in np.reshape(scales, -1)]


def as_onnx(net: Net, *, qdq: bool = False) -> tuple[ModelProto, dict[str, str]]:
    """The net, and the name of the layer that makes each tensor."""
    nodes: list[NodeProto] = []
    constants: list[TensorProto] = []
    makers: dict[str, str] = {}
    depths, real = widths(net), {"x": "x"}

    def add(op_type: str, inputs: list[str], output: str, name: str = "", **attributes: Any) -> str:
        nodes.append(helper.make_node(op_type, inputs, [output], "" if net.numbered else name, **attributes))
        return output

    def constant(name: str, values: np.ndarray) -> str:
        constants.append(numpy_helper.from_array(values, name))
        return name

    def pair(title: str) -> str:
        numbers = [constant(f"{title}_s", np.array(net.step, np.float32)), constant(f"{title}_z", np.array(0, np.int8))]
        return add("DequantizeLinear", [add("QuantizeLinear", [title, *numbers], f"{title}_q"), *numbers], f"{title}_d")

    if qdq:
        real["x"] = pair("x")
    for layer in net.ordered():
        title, inputs = net.title(layer.name), [real[name] for name in layer.inputs]
        makers[title] = layer.name
        if layer.kind == "conv":
            values = weights_of(net, layer, depths[layer.inputs[0]])
            stored: np.ndarray = values.astype(np.float32)
            scales: list[float] = []
            if qdq:
                stored, scales = quantized(net, values)
            if net.transposed:
                stored = np.ascontiguousarray(stored.transpose(0, 2, 3, 1))
            weights = constant(f"{title}_w", stored)
            if qdq:
                several = len(scales) > 1
                numbers = np.array(scales, np.float32) if several else np.array(scales[0], np.float32)
                zeros = np.zeros(numbers.shape, np.int8)
                parameters = [constant(f"{title}_ws", numbers), constant(f"{title}_wz", zeros)]
                weights = add("DequantizeLinear", [weights, *parameters], f"{title}_wd", axis=0)
            if net.transposed:
                weights = add("Transpose", [weights], f"{title}_wt", perm=[0, 3, 1, 2])
            add("Conv", [*inputs, weights], title, title, pads=[1] * 4)
        elif layer.kind == "pool":
            add("MaxPool", inputs, title, title, kernel_shape=[3, 3], pads=[1] * 4)
        elif layer.kind == "concat":
            add("Concat", inputs, title, title, axis=1)
        else:
            add(ACTIVATIONS.get(layer.kind, "Add"), inputs, title, title)
        readers = [row for row in net.layers if layer.name in row.inputs]
        clamped = len(readers) == 1 and readers[0].kind == "relu"
        real[layer.name] = pair(title) if qdq and not clamped else title
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 4, SIDE, SIDE))],
        [helper.make_tensor_value_info(real[net.last()], TensorProto.FLOAT, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", net.opset)], ir_version=8), makers


def as_tflite(net: Net) -> tuple[bytes, dict[str, str]]:
    """The net, and the name of the layer that makes each tensor."""
    chain, tensors, makers = Chain(0), {}, {}
    depths = widths(net)
    tensors["x"] = chain.activation([1, SIDE, SIDE, 4], net.step, 0, name="x")
    for layer in net.ordered():
        title, inputs = net.title(layer.name), [tensors[name] for name in layer.inputs]
        makers[title] = layer.name
        output = chain.activation([1, SIDE, SIDE, depths[layer.name]], net.step, 0, name=title)
        if layer.kind == "conv":
            integers, scales = quantized(net, weights_of(net, layer, depths[layer.inputs[0]]))
            stored = chain.constant(np.ascontiguousarray(integers.transpose(0, 2, 3, 1)), scales, name=f"{title}_w")
            biases = [net.step * scale for scale in scales]
            bias = chain.constant(np.zeros(layer.width, np.int32), biases, name=f"{title}_b")
            options = {"padding": "SAME", "stride_w": 1, "stride_h": 1, "fused_activation_function": "NONE"}
            chain.add("CONV_2D", [*inputs, stored, bias], output, ("Conv2DOptions", options))
        elif layer.kind == "concat":
            chain.add("CONCATENATION", inputs, output, ("ConcatenationOptions", {"axis": 3}))
        else:
            chain.add(BUILTIN[layer.kind], inputs, output, OPTIONS.get(layer.kind))
        tensors[layer.name] = output
    versions = dict.fromkeys(chain.codes, 1 if net.opset == OPSET else 2)
    return chain.model([tensors["x"]], [tensors[net.last()]], versions=versions), makers
