"""Small quantized convolutions that meet a known hazard which a repair by rewriting answers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT8, INT32, FLOAT, INT16 = TensorProto.INT8, TensorProto.INT32, TensorProto.FLOAT, TensorProto.INT16
RANDOM = np.random.default_rng(5)


class Parts:
    """Nodes and constants in the making."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: object, kind: type) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def node(self, op_type: str, inputs: list[str], output: str, **more: object) -> str:
        self.nodes.append(helper.make_node(op_type, inputs, [output], f"{output}_made", **more))
        return output

    def parameters(self, name: str, scale: object, zero: object, kind: type) -> list[str]:
        return [self.constant(f"{name}_scale", scale, np.float32), self.constant(f"{name}_zero", zero, kind)]

    def model(self, given: tuple[int, tuple[int, ...]], output: str, opset: int = 17) -> onnx.ModelProto:
        """The model of a graph input `x` (type and shape)."""
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", *given)],
            [helper.make_empty_tensor_value_info(output)], self.constants,
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        del model.graph.value_info[:]
        return model


def convolution(
    shape: tuple[int, ...],
    filters: tuple[int, ...],
    *,
    bias: bool = True,
    relu: bool = False,
    kind: type = np.int8,
    op_type: str = "Conv",
    **more: object,
) -> onnx.ModelProto:
    """One convolution between DequantizeLinear and QuantizeLinear, with a scale per output channel."""
    parts = Parts()
    outputs = filters[0] if op_type == "Conv" else filters[1]
    axis = 0 if op_type == "Conv" else 1
    scales = RANDOM.uniform(0.005, 0.02, outputs).astype(np.float32)
    inputs = [
        parts.node("DequantizeLinear", ["x", *parts.parameters("x", 0.05, 3 if kind is np.int8 else 0, kind)], "xr")
    ]
    weights = parts.constant("w", RANDOM.integers(-99, 99, filters), np.int8)
    parameters = parts.parameters("w", scales, np.zeros(outputs), np.int8)
    inputs.append(parts.node("DequantizeLinear", [weights, *parameters], "wr", axis=axis))
    if bias:
        integers = parts.constant("b", RANDOM.integers(-999, 999, outputs), np.int32)
        scale = parts.constant("b_scale", scales * np.float32(0.05), np.float32)
        inputs.append(parts.node("DequantizeLinear", [integers, scale], "br", axis=0))
    last = parts.node(op_type, inputs, "conv", **more)
    last = parts.node("Relu", [last], "relu") if relu else last
    parts.node("QuantizeLinear", [last, *parts.parameters("y", 0.5, 0 if relu else -3, kind)], "y")
    return parts.model((INT8 if kind is np.int8 else INT16, shape), "y", 21 if kind is np.int16 else 17)


def float_groups() -> onnx.ModelProto:
    """A grouped 1x1 convolution in float with BatchNormalization and Relu behind it."""
    parts = Parts()
    weights = parts.constant("w", RANDOM.uniform(-1, 1, (6, 2, 1, 1)), np.float32)
    last = parts.node("Conv", ["x", weights], "conv", group=2)
    vectors = [
        parts.constant(name, RANDOM.uniform(0.5, 1.5, 6), np.float32) for name in ("scale", "shift", "mean", "var")
    ]
    last = parts.node("BatchNormalization", [last, *vectors], "normal")
    parts.node("Relu", [last], "y")
    return parts.model((FLOAT, (1, 4, 6, 6)), "y", 17)


def operator_format(**more: object) -> onnx.ModelProto:
    """A 1x1 QLinearConv with padding after."""
    parts = Parts()
    inputs = ["x", *parts.parameters("x", 0.05, 3, np.int8)]
    inputs += [
        parts.constant("w", RANDOM.integers(-99, 99, (4, 4, 1, 1)), np.int8),
        *parts.parameters("w", 0.01, 0, np.int8),
    ]
    inputs += [*parts.parameters("y", 0.1, -3, np.int8), parts.constant("b", RANDOM.integers(-99, 99, 4), np.int32)]
    parts.node("QLinearConv", inputs, "y", **more)
    return parts.model((INT8, (1, 4, 6, 6)), "y")


def pool(op_type: str, images: int = 3) -> onnx.ModelProto:
    """A pool over several images between DequantizeLinear and QuantizeLinear."""
    parts = Parts()
    parameters = parts.parameters("x", 0.05, 3, np.int8)
    real = parts.node("DequantizeLinear", ["x", *parameters], "xr")
    last = parts.node(op_type, [real], "pool", kernel_shape=[2, 2], strides=[2, 2])
    parts.node("QuantizeLinear", [last, *parameters], "y")
    return parts.model((INT8, (images, 4, 6, 6)), "y")


def float_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of `convolution` that stores its weights in float, before a QuantizeLinear (AddQDQPairToWeight)."""
    (weights,) = (initializer for initializer in model.graph.initializer if initializer.name == "w")
    (scales,) = (initializer for initializer in model.graph.initializer if initializer.name == "w_scale")
    steps = numpy_helper.to_array(scales).reshape(-1, 1, 1, 1)
    weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights) * steps, "w_float"))
    quantize = helper.make_node("QuantizeLinear", ["w_float", "w_scale", "w_zero"], ["w"], "w_made", axis=0)
    model.graph.node.insert(0, quantize)
    return model


def moved_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of `convolution` whose weights a node hands on between the file and their DequantizeLinear."""
    (weights,) = (initializer for initializer in model.graph.initializer if initializer.name == "w")
    weights.name = "w_stored"
    model.graph.node.insert(0, helper.make_node("Identity", ["w_stored"], ["w"], "w_made"))
    return model
