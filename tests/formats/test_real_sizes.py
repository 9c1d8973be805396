"""Real numbers where an operator takes sizes, axes or amounts: damaged files are told, and end nothing."""

from __future__ import annotations

import struct
from math import inf, nan

import pytest
from onnx import TensorProto, helper

from support.linter import layered, linted
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

M4 = {"targets": ["cortex-m4"]}
NUMBERS = [nan, inf, 2.5]
TFLITE = ("EXPAND_DIMS", "GATHER", "MEAN", "PAD", "RESHAPE", "REVERSE_V2", "SPACE_TO_BATCH_ND", "STRIDED_SLICE", "TILE")


def onnx_model(op: str, inputs: list[str], number: float, opset: int = 13) -> bytes:
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)]
        for name, shape in (("x", [1, 2, 4, 4]), ("z", None))
    ]
    nodes = [helper.make_node(op, inputs, ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "g", *ends, [helper.make_tensor("a", TensorProto.FLOAT, [2], [number] * 2)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "op", ["ConstantOfShape", "Expand", "Pad", "ReduceMean", "Reshape", "Slice", "Tile", "Unsqueeze"]
)
def test_an_onnx_model_with_a_real_size_is_told(op: str, number: float) -> None:
    inputs = {"ConstantOfShape": ["a"], "Slice": ["x", "a", "a", "a", "a"]}.get(op, ["x", "a"])
    for opset in (9, 13, 18):
        data = onnx_model(op, inputs, number, opset)
        assert linted(data, **M4).findings
        assert len(layered(data, **M4).layers) <= 2


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("op", TFLITE)
def test_a_tflite_model_with_a_real_size_is_told(op: str, number: float) -> None:
    more = {"STRIDED_SLICE": 3, "SPACE_TO_BATCH_ND": 2}.get(op, 1)
    stored = [tensor(f"a{index}", [4], 1, None, type="FLOAT32") for index in range(more)]
    tensors = [tensor("x", [1, 4, 4, 2]), *stored, tensor("y", [1, 4, 4, 2])]
    data = write(one_operator(op, tensors, buffers=[{}, {"data": [*struct.pack("<4f", *[number] * 4)]}]))
    assert linted(data, "m.tflite", **M4).verdicts
    assert len(layered(data, "m.tflite", **M4).layers) == 1


@pytest.mark.parametrize("op", ["Resize", "Upsample", "Range", "Slice"])
def test_an_operator_without_inputs_in_a_branch_is_told(op: str) -> None:
    end = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    branch = helper.make_graph(
        [helper.make_node(op, [], ["q"])], "b", [], [helper.make_tensor_value_info("q", 1, None)]
    )
    node = helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph([node], "g", [], [end], [helper.make_tensor("c", TensorProto.BOOL, [], [True])])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
    assert [finding.code for finding in linted(data, **M4).findings] == ["CNN004"]
