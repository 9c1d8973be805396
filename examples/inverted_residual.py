"""Makes a small model with odd channel counts: python examples/inverted_residual.py MODEL.onnx.

A stem of 3 input channels, a MobileNet-style inverted residual (widths 6, 10, 6, with a depthwise layer and a residual
Add), average pooling and a Gemm; float, seeded, 32 x 32 pixels. Its channel counts that may change are 6 and 10;
those of the image and of the classes are the model's interface.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

STEM, EXPANDED, CLASSES = 6, 10, 5
PIXELS = 32


class _Builder:
    """Nodes and weights in order."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(3)

    def constant(self, name: str, *shape: int) -> str:
        """A random weight."""
        scale = 1 / np.sqrt(max(1, np.prod(shape[1:])))
        values = self._random.normal(0, scale, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, name: str, data: str, channels: tuple[int, int], kernel: int, *, group: int = 1) -> str:
        """A convolution from one channel count to another, same size of the plane."""
        inputs, outputs = channels
        weights = self.constant(f"{name}.weight", outputs, inputs // group, kernel, kernel)
        bias = self.constant(f"{name}.bias", outputs)
        shape = {"kernel_shape": [kernel] * 2, "pads": [kernel // 2] * 4, "group": group}
        self.nodes.append(helper.make_node("Conv", [data, weights, bias], [f"{name}_out"], name, **shape))
        return f"{name}_out"

    def node(self, op_type: str, name: str, *inputs: str) -> str:
        """Any other operator."""
        self.nodes.append(helper.make_node(op_type, list(inputs), [f"{name}_out"], name))
        return f"{name}_out"


def inverted_residual() -> onnx.ModelProto:
    """The model."""
    build = _Builder()
    stem = build.node("Relu", "stem_relu", build.conv("stem", "image", (3, STEM), 3))
    wide = build.node("Relu", "expand_relu", build.conv("expand", stem, (STEM, EXPANDED), 1))
    depth = build.conv("depthwise", wide, (EXPANDED, EXPANDED), 3, group=EXPANDED)
    narrow = build.conv("project", build.node("Relu", "depthwise_relu", depth), (EXPANDED, STEM), 1)
    joined = build.node("Add", "residual", stem, narrow)
    flat = build.node("Flatten", "flatten", build.node("GlobalAveragePool", "pool", joined))
    dense = [build.constant("dense.weight", STEM, CLASSES), build.constant("dense.bias", CLASSES)]
    build.nodes.append(helper.make_node("Gemm", [flat, *dense], ["classes"], "dense"))
    graph = helper.make_graph(
        build.nodes,
        "inverted_residual",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, PIXELS, PIXELS])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, [1, CLASSES])],
        build.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(inverted_residual().SerializeToString())
