"""ONNX models of floats, of a few nodes."""

from __future__ import annotations

import onnx
from onnx import helper


def model_of(nodes: list, constants: list = [], shape: tuple[int, ...] = (1, 4)) -> onnx.ModelProto:  # noqa: B006
    ends = [[helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, size)] for name, size in
            (("x", shape), ("y", None))]  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("some", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", *ends, constants), opset_imports=opsets, ir_version=8)
