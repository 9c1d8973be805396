"""Where the quantization of integers is found: along fans of readers, and along axes that count from the last."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from onnxlint_cmsis.lower.dims import REACH
from support.linter import linted

M4 = {"targets": ["cortex-m4"]}


def made(nodes: list[object], ends: dict[str, list[int]], shape: list[int], **constants: object) -> ModelProto:
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    outputs = [helper.make_tensor_value_info(name, TensorProto.INT8, size) for name, size in ends.items()]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.INT8, shape)], outputs, stored
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def unrolled(count: int) -> ModelProto:
    """A dense layer on each row of the input, as of an unrolled recurrent net."""
    nodes, constants = [helper.make_node("DequantizeLinear", ["w", "s"], ["wf"])], {}
    for row in range(count):
        constants |= {f"a{row}": np.array([row]), f"b{row}": np.array([row + 1])}
        nodes += [
            helper.make_node("Slice", ["x", f"a{row}", f"b{row}", "axes"], [f"c{row}"]),
            helper.make_node("DequantizeLinear", [f"c{row}", "s", "z"], [f"f{row}"]),
            helper.make_node("MatMul", [f"f{row}", "wf"], [f"g{row}"]),
            helper.make_node("QuantizeLinear", [f"g{row}", "s", "z"], [f"y{row}"]),
        ]
    ends = {f"y{row}": [1, 1, 4] for row in range(count)}
    weights = {"w": np.ones((8, 4), np.int8), "s": np.float32(0.1), "z": np.int8(0), "axes": np.array([1])}
    return made(nodes, ends, [1, count, 8], **weights, **constants)


@pytest.mark.parametrize("count", [3, REACH + 20])
def test_a_tensor_that_many_readers_move_has_their_quantization(count: int) -> None:
    result = linted(unrolled(count).SerializeToString(), **M4)
    assert {verdict.word for verdict in result.verdicts} == {"RUNS, partly"}


@pytest.mark.parametrize(("axis", "told"), [(0, False), (-4, False), (1, True), (-3, True), (-1, True)])
def test_an_axis_of_scales_counts_from_the_last_too(axis: int, told: bool) -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws"], ["wf"], axis=axis),
        helper.make_node("Conv", ["xf", "wf"], ["yf"]),
        helper.make_node("QuantizeLinear", ["yf", "s", "z"], ["y"]),
    ]
    weights = {"w": np.ones((4, 4, 4, 4), np.int8), "ws": np.full(4, 0.1, np.float32)}
    model = made(nodes, {"y": [1, 4, 3, 3]}, [1, 4, 6, 6], **weights, s=np.float32(0.1), z=np.int8(0))
    result = linted(model.SerializeToString(), **M4)
    said = [finding for finding in result.findings if "along another axis" in finding.message]
    assert bool(said) is told
