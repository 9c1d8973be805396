"""Makes a one-dimensional model whose best channel counts differ by CPU: python examples/odd_widths.py MODEL.onnx.

Keyword spotting in small: 40 features by 128 steps of time, a pointwise layer to 6 channels, a layer of 5 steps to 15,
a pointwise layer to 24, average pooling and a Gemm; float, seeded.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FEATURES, STEPS, CLASSES = 40, 128, 12
NARROW, WIDE, LAST = 6, 15, 24


def odd_widths() -> onnx.ModelProto:
    """The model."""
    random = np.random.default_rng(5)
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def constant(name: str, *shape: int) -> str:
        values = random.normal(0, 1 / np.sqrt(max(1, np.prod(shape[1:]))), shape).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(name: str, data: str, shape: tuple[int, int, int], group: int = 1) -> str:
        """Weights [outputs, inputs per group, width], same length of time; a Relu after it."""
        names = [data, constant(f"{name}.weight", *shape), constant(f"{name}.bias", shape[0])]
        pads = [shape[2] // 2] * 2
        nodes.append(
            helper.make_node("Conv", names, [f"{name}_sum"], name, kernel_shape=shape[2:], pads=pads, group=group)
        )
        nodes.append(helper.make_node("Relu", [f"{name}_sum"], [f"{name}_out"], f"{name}_relu"))
        return f"{name}_out"

    value = conv("squeeze", "features", (NARROW, FEATURES, 1))
    value = conv("listen", value, (WIDE, NARROW, 5))
    value = conv("mix", value, (LAST, WIDE, 1))
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["pooled"], "pool"))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"], "flatten"))
    dense = [constant("words.weight", LAST, CLASSES), constant("words.bias", CLASSES)]
    nodes.append(helper.make_node("Gemm", ["flat", *dense], ["words"], "words"))
    graph = helper.make_graph(
        nodes,
        "odd_widths",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, FEATURES, STEPS])],
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, [1, CLASSES])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(odd_widths().SerializeToString())
