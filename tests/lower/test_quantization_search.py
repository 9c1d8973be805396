"""Where the quantization of integers is found: along fans of readers, and along axes that count from the last."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from support.linter import layered, linted

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


LONG = 300
"""Nodes of a chain or a fan that is followed to its end."""


@pytest.mark.parametrize("count", [3, LONG])
def test_a_tensor_that_many_readers_move_has_their_quantization(count: int) -> None:
    result = linted(unrolled(count).SerializeToString(), **M4)
    assert {verdict.word for verdict in result.verdicts} == {"RUNS, partly"}


def moved(count: int) -> ModelProto:
    """A convolution behind a DequantizeLinear and so many Transposes, two of which leave all in place."""
    turns = [helper.make_node("Transpose", [f"t{n}"], [f"t{n + 1}"], perm=[0, 1, 3, 2]) for n in range(count)]
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["t0"]),
        *turns,
        helper.make_node("DequantizeLinear", ["w", "s"], ["wf"]),
        helper.make_node("Conv", [f"t{count}", "wf"], ["yf"]),
        helper.make_node("QuantizeLinear", ["yf", "s", "z"], ["y"]),
    ]
    weights = {"w": np.ones((4, 4, 4, 4), np.int8), "s": np.float32(0.1), "z": np.int8(0)}
    return made(nodes, {"y": [1, 4, 3, 3]}, [1, 4, 6, 6], **weights)


@pytest.mark.parametrize("count", [2, LONG])
def test_a_layer_behind_a_chain_of_moves_has_their_quantization(count: int) -> None:
    layers = layered(moved(count).SerializeToString(), **M4).layers
    (convolution,) = [layer for layer in layers if layer.op == "Conv"]
    assert convolution.entry == "convolve_s8"
    assert not convolution.assumed


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
