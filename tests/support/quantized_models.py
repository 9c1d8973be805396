"""Small quantized models, one for each fact that keeps a layer off CMSIS-NN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

Build = Callable[[Path], str]
IMAGE = (1, 4, 6, 6)


@dataclass
class Qdq:
    """A model in QDQ format in the making; tensor `x` is its int8 input of scale 0.1, `tensor` the last result."""

    shape: tuple[int, ...] = IMAGE
    kind: type[np.generic] = np.int8
    zero: int = 0
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    real: str = ""

    def __post_init__(self) -> None:
        self.real = self.dequantized("x", 0.1, self.zero)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def _parameters(self, name: str, scale: object, zero: object, kind: type[np.generic]) -> list[str]:
        scale_name = self.constant(f"{name}_scale", np.array(scale, np.float32))
        return [scale_name, self.constant(f"{name}_zero", np.array(zero, kind))]

    def dequantized(self, name: str, scale: object, zero: object = 0, axis: int = 0) -> str:
        parameters = self._parameters(f"{name}_dq", scale, zero, self.kind)
        self.nodes.append(helper.make_node("DequantizeLinear", [name, *parameters], [f"{name}_real"], axis=axis))
        return f"{name}_real"

    def weights(self, name: str, shape: tuple[int, ...], zero: object = 0, scale: object = 0.01, axis: int = 0) -> str:
        generator = np.random.default_rng(1)
        integers = self.constant(name, generator.integers(-99, 99, shape).astype(np.int8))
        parameters = self._parameters(name, scale, zero, np.int8)
        self.nodes.append(helper.make_node("DequantizeLinear", [integers, *parameters], [f"{name}_w"], axis=axis))
        return f"{name}_w"

    def layer(self, op_type: str, *others: str, domain: str = "", **attributes: object) -> Qdq:
        """A node named after its operator that reads the last result; its own is the last one then."""
        output = f"{op_type.lower()}_{len(self.nodes)}"
        node = helper.make_node(op_type, [self.real, *others], [output], op_type.lower(), domain=domain, **attributes)
        self.nodes.append(node)
        self.real = output
        return self

    def rounded(self, scale: float = 0.1, zero: int | None = None, kind: type[np.generic] | None = None) -> Qdq:
        """QuantizeLinear and DequantizeLinear behind the last result, of its type or another."""
        name = f"{self.real}_q"
        parameters = self._parameters(name, scale, self.zero if zero is None else zero, kind or self.kind)
        self.nodes.append(helper.make_node("QuantizeLinear", [self.real, *parameters], [name]))
        self.nodes.append(helper.make_node("DequantizeLinear", [name, *parameters], [f"{name}_real"]))
        self.real = f"{name}_real"
        return self

    def model(self) -> onnx.ModelProto:
        """The model; the integers in front of the last DequantizeLinear are its output."""
        output = self.nodes[-1].input[0] if self.nodes[-1].op_type == "DequantizeLinear" else self.real
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.kind))
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", kind, self.shape)],
            [helper.make_empty_tensor_value_info(output)], self.constants,
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(model)
        del inferred.graph.value_info[:]
        return inferred


def convolution(start: Qdq | None = None, zero: object = 0, **attributes: object) -> Qdq:
    """A 3x3 convolution of four to four channels, padded by one."""
    model = start or Qdq()
    name = f"w{len(model.nodes)}"
    attributes = {"pads": [1, 1, 1, 1], **attributes}
    return model.layer("Conv", model.weights(name, (4, 4, 3, 3), zero), **attributes).rounded(0.2)


def dense(zero: object = 0, scale: object = 0.01, kind: type[np.generic] = np.int8, **attributes: object) -> Qdq:
    """A Gemm of eight to three channels, weights [8, 3]."""
    model = Qdq((1, 8), kind)
    return model.layer("Gemm", model.weights("w", (8, 3), zero, scale, axis=1), **attributes).rounded(0.2)


def constant_operand(op_type: str, shape: tuple[int, ...]) -> Qdq:
    """A sum or product of an activation and a constant, behind a convolution."""
    model = convolution()
    name = model.constant("k", np.random.default_rng(2).integers(1, 99, shape).astype(np.int8))
    return model.layer(op_type, model.dequantized(name, 0.05)).rounded(0.3)


def clamped(scale: float) -> Qdq:
    """Relu behind the Q/DQ pair of a convolution, its own result of a scale."""
    return convolution().layer("Relu").rounded(scale)


def softmax(scale: float, zero: int, kind: type[np.generic] = np.int8) -> Qdq:
    """A dense layer and Softmax with a scale and zero-point."""
    return dense(kind=kind).layer("Softmax", axis=-1).rounded(scale, zero)


CASES: dict[str, Callable[[], Qdq]] = {
    "plain convolution": convolution,
    "weights with a zero-point": lambda: convolution(zero=3),
    "second convolution with a zero-point": lambda: convolution(convolution(), zero=-7),
    "int16": lambda: convolution(Qdq(kind=np.int16)),
    "int16 with a zero-point": lambda: convolution(Qdq(kind=np.int16, zero=5)),
    "uint8": lambda: convolution(Qdq(kind=np.uint8, zero=128)),
    "dense": dense,
    "dense weights with a zero-point": lambda: dense(zero=4),
    "dense weights of several scales": lambda: dense(zero=[0, 0, 0], scale=[0.01, 0.02, 0.03]),
    "int16 dense of several scales": lambda: dense(zero=[0, 0, 0], scale=[0.01, 0.02, 0.03], kind=np.int16),
    "Gemm with factors": lambda: dense(alpha=0.5),
    "Gemm with an alpha below 0": lambda: dense(alpha=-1.0),
    "average pool of unequal scales": lambda: convolution().layer("GlobalAveragePool").rounded(0.1),
    "average pool of equal scales": lambda: convolution().layer("GlobalAveragePool").rounded(0.2),
    "max pool of unequal scales": lambda: convolution().layer("MaxPool", kernel_shape=[2, 2]).rounded(0.1),
    "softmax as the function has it": lambda: softmax(1 / 256, -128),
    "softmax of another scale": lambda: softmax(1 / 255, -128),
    "int16 softmax of the quantizer's scale": lambda: softmax(1 / 32767, 0, np.int16),
    "int16 softmax of another scale": lambda: softmax(1 / 32760, 0, np.int16),
    "clamp of the same scale": lambda: clamped(0.2),
    "clamp of another scale": lambda: clamped(0.1),
    "constant per position": lambda: constant_operand("Add", IMAGE),
    "constant per channel behind a scale": lambda: constant_operand("Mul", (1, 4, 1, 1)),
    "one number": lambda: constant_operand("Add", (1,)),
    "several numbers to divide by": lambda: constant_operand("Div", (1, 4, 1, 1)),
    "float result": lambda: convolution().layer("Conv", "w1_w"),
    "change of scale": lambda: convolution().rounded(0.1),
    "sigmoid": lambda: convolution().layer("Sigmoid").rounded(1 / 256, -128),
    "clamp in a softmax": lambda: dense().layer("Softmax", axis=-1).layer("Clip").rounded(1 / 256, -128),
    "layer in float": lambda: convolution().layer("Softplus").layer("Sigmoid").rounded(1 / 256, -128),
}
"""What is special about a model, to the model."""


def padded(scale: float) -> Qdq:
    """A Pad that no convolution takes over, since the padding after is less than that before."""
    model = convolution()
    pads = model.constant("pads", np.array([0, 0, 2, 2, 0, 0, 1, 1]))
    return convolution(model.layer("Pad", pads).rounded(scale), pads=[0, 0, 0, 0])


def joined(scale: float) -> Qdq:
    """Concat of a convolution's result and its own input."""
    model = convolution()
    before = model.real
    return convolution(model).layer("Concat", before, axis=1).rounded(scale)


def transposed() -> Qdq:
    """A transposed convolution of fifteen to three channels, with a bias."""
    start = Qdq((1, 15, 2, 6))
    weights, bias = start.weights("w", (15, 3, 2, 4)), start.constant("bias", np.ones(3, np.float32))
    return start.layer("ConvTranspose", weights, bias, strides=[2, 2]).rounded(0.2)


def grouped() -> Qdq:
    """A convolution of two groups."""
    model = Qdq()
    return model.layer("Conv", model.weights("w", (6, 2, 3, 3)), group=2).rounded(0.2)


CASES |= {
    "pad of equal scales": lambda: padded(0.2),
    "pad of unequal scales": lambda: padded(0.1),
    "concat of equal scales": lambda: joined(0.2),
    "concat of unequal scales": lambda: joined(0.1),
    "grouped": grouped,
}


def _writer(build: Callable[[], Qdq]) -> Build:
    def write(folder: Path) -> str:
        path = folder / "made.onnx"
        onnx.save(build().model(), path)
        return str(path)

    return write


MODELS: dict[str, Build] = {name: _writer(build) for name, build in CASES.items()}
"""The same as files."""
