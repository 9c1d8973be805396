"""Makes the models the benchmarks load: MobileNets, a chain of small nodes, a file with a hole for weights."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""Output channels and stride of each block of MobileNetV1."""


def mobilenet(path: Path, width: float = 1.0) -> None:
    """Write a MobileNetV1-shaped float model: 27 convolutions, about 17 MB at width 1."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    value, channels = "input", 3
    rng = np.random.default_rng(1)

    def conv(out: int, kernel: int, stride: int, group: int) -> None:
        nonlocal value, channels
        index = len(nodes)
        shape = (out, channels // group, kernel, kernel)
        weights.append(numpy_helper.from_array(rng.standard_normal(shape, dtype=np.float32), f"w{index}"))
        weights.append(numpy_helper.from_array(np.zeros(out, np.float32), f"b{index}"))
        pads = [kernel // 2] * 4
        nodes.append(
            helper.make_node(
                "Conv",
                [value, f"w{index}", f"b{index}"],
                [f"c{index}"],
                f"conv{index}",
                strides=[stride, stride],
                pads=pads,
                group=group,
                kernel_shape=[kernel, kernel],
            )
        )
        nodes.append(helper.make_node("Relu", [f"c{index}"], [f"r{index}"], f"relu{index}"))
        value, channels = f"r{index}", out

    conv(int(32 * width), 3, 2, 1)
    for out, stride in BLOCKS:
        conv(channels, 3, stride, channels)
        conv(int(out * width), 1, 1, 1)
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["pooled"], "pool"))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"))
    weights.append(numpy_helper.from_array(rng.standard_normal((channels, 1000), dtype=np.float32), "dense"))
    nodes.append(helper.make_node("MatMul", ["flat", "dense"], ["output"], "head"))
    _save(path, nodes, weights, [1, 3, 224, 224], [1, 1000])


class _Quantized:
    """A chain of s8 layers between QuantizeLinear and DequantizeLinear, as TensorFlow Lite's models are exported."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.stored: list[onnx.TensorProto] = []
        self.value = "input"
        self._rng = np.random.default_rng(1)

    def layer(self, op_type: str, *shape: int, **attributes: Any) -> None:
        """Add a layer, with s8 weights per output channel and an int32 bias where it has a shape, and quantize it."""
        index = len(self.nodes)
        inputs = [self.value, *self._weights(index, shape)] if shape else [self.value]
        self.nodes.append(helper.make_node(op_type, inputs, [f"y{index}"], f"{op_type}{index}", **attributes))
        self.value = f"y{index}"

    def quantize(self) -> None:
        """Quantize the last value and take it back."""
        index = len(self.nodes)
        scale = [self._store(f"s{index}", np.float32(0.0625)), self._store(f"z{index}", np.int8(-3))]
        self.nodes.append(helper.make_node("QuantizeLinear", [self.value, *scale], [f"q{index}"], f"quantize{index}"))
        self._dequantize(f"q{index}", scale)
        self.value = self.nodes[-1].output[0]

    def _weights(self, index: int, shape: tuple[int, ...]) -> list[str]:
        scales = self._store(f"ws{index}", np.full(shape[0], 0.01, np.float32))
        zeros = self._store(f"wz{index}", np.zeros(shape[0], np.int8))
        self._dequantize(
            self._store(f"w{index}", self._rng.integers(-127, 128, shape, dtype=np.int8)), [scales, zeros], axis=0
        )
        kernel = self.nodes[-1].output[0]
        scales = self._store(f"bs{index}", np.full(shape[0], 0.0005, np.float32))
        zeros = self._store(f"bz{index}", np.zeros(shape[0], np.int32))
        bias = self._rng.integers(-2000, 2000, shape[0], dtype=np.int32)
        self._dequantize(self._store(f"b{index}", bias), [scales, zeros], axis=0)
        return [kernel, self.nodes[-1].output[0]]

    def _store(self, name: str, values: np.ndarray | np.generic) -> str:
        self.stored.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def _dequantize(self, name: str, scale: list[str], **attributes: Any) -> None:
        output = f"{name}_float"
        self.nodes.append(helper.make_node("DequantizeLinear", [name, *scale], [output], output, **attributes))


class _FloatWeights(_Quantized):
    """The same with float weights and biases, which ONNX Runtime quantizes by the largest weight when it loads them.

    An eighth of the channels between the blocks does nothing; two blocks have their largest weights where they read
    such a channel, so that removing it changes what ONNX Runtime makes of them.
    """

    LARGEST = (6, 16)
    """Layers that have them."""

    def _weights(self, index: int, shape: tuple[int, ...]) -> list[str]:
        layer = sum(node.op_type == "Conv" for node in self.nodes)
        steps, bias = self._rng.integers(-16, 17, shape), self._rng.integers(-32, 33, shape[0])
        dead = shape[0] // 8 if len(shape) == 4 else 0
        bias[shape[0] - dead :] = 0
        if layer % 2 == 0:
            steps[shape[0] - dead :] = 0
        if layer in self.LARGEST:
            steps[: shape[0] - dead, shape[1] - shape[1] // 8 :] = 160
        return [
            self._store(f"w{index}", (steps / 256).astype(np.float32)),
            self._store(f"b{index}", (bias / 64).astype(np.float32)),
        ]


def quantized_mobilenet(path: Path, width: float = 0.875, *, float_weights: bool = False) -> None:
    """Write a quantized MobileNetV1: 27 convolutions and a dense layer; s8 weights, 3.4 MB at this width, or float."""
    model = _FloatWeights() if float_weights else _Quantized()
    model.quantize()
    channels = int(32 * width)
    model.layer("Conv", channels, 3, 3, 3, strides=[2, 2], pads=[1] * 4)
    for out, stride in BLOCKS:
        model.quantize()
        model.layer("Conv", channels, 1, 3, 3, strides=[stride, stride], pads=[1] * 4, group=channels)
        model.quantize()
        model.layer("Conv", int(out * width), channels, 1, 1)
        channels = int(out * width)
    model.quantize()
    model.layer("GlobalAveragePool")
    model.quantize()
    model.layer("Flatten")
    model.quantize()
    model.layer("Gemm", 1000, channels, transB=1)
    model.quantize()
    model.nodes[-1].output[0] = "output"
    _save(path, model.nodes, model.stored, [1, 3, 224, 224], [1, 1000])


def chain(path: Path, nodes: int) -> None:
    """Write a chain of `nodes` small nodes: convolution, relu, convolution, relu and so on."""
    protos: list[onnx.NodeProto] = []
    weights = [numpy_helper.from_array(np.zeros((8, 8, 1, 1), np.float32), "w")]
    value = "input"
    for index in range(nodes):
        if index % 2:
            protos.append(helper.make_node("Relu", [value], [f"v{index}"], f"n{index}"))
        else:
            weights.append(numpy_helper.from_array(np.zeros((8, 8, 1, 1), np.float32), f"w{index}"))
            protos.append(helper.make_node("Conv", [value, f"w{index}"], [f"v{index}"], f"n{index}"))
        value = f"v{index}"
    protos.append(helper.make_node("Identity", [value], ["output"], "end"))
    _save(path, protos, weights[1:], [1, 8, 16, 16], [1, 8, 16, 16])


def heavy(path: Path, megabytes: int) -> None:
    """Write a model with one matrix of `megabytes`; its bytes are a hole in the file, so they cost no disk."""
    rows = megabytes * 1024 * 1024 // (4 * 1024)
    node = helper.make_node("MatMul", ["input", "w"], ["output"], "head")
    graph = helper.make_graph(
        [node], "heavy",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, rows])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1024])],
    )  # fmt: skip
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, 1024])
    size = rows * 1024 * 4
    head = tensor.SerializeToString() + b"\x4a" + _varint(size)
    graph_head = graph.SerializeToString() + b"\x2a" + _varint(len(head) + size) + head
    model = helper.make_model(helper.make_graph([], "", [], []), opset_imports=[helper.make_opsetid("", 13)])
    model.ClearField("graph")
    start = model.SerializeToString() + b"\x3a" + _varint(len(graph_head) + size) + graph_head
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + size)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _save(
    path: Path, nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto], source: list[int], result: list[int]
) -> None:
    graph = helper.make_graph(
        nodes, path.stem,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, source)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, result)],
        weights,
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def main(folder: Path) -> None:
    """Write every model that speed.py loads."""
    mobilenet(folder / "mobilenet.onnx")
    quantized_mobilenet(folder / "quantized.onnx")
    heavy(folder / "small.onnx", 1)
    heavy(folder / "large.onnx", 1024)
    chain(folder / "n1000.onnx", 1_000)
    chain(folder / "n10000.onnx", 10_000)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
