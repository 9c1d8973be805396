"""Numbers with few integers: planted ones are found, and what uses its integers is left alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.types import Level
from support.goldens import Told
from support.linter import linted
from support.models import text
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write

HEAD = '<ir_version: 8, opset_import: ["" : 13]>'


FEW = "output channels have few"
"""Of the messages of CNN517, the one on weights."""


def few_levels(model: object, name: str = "m.onnx", **more: object) -> list[Finding]:
    told = linted(model, name, targets=["cortex-m4"], **more).told  # type: ignore[arg-type]
    return [finding for finding in told if finding.code == "CNN517"]


def layer(kind: str, weights: list[list[int]], scales: list[float]) -> onnx.ModelProto:
    """A layer with these weights, a row for each output channel; int8 weights of one scale or of several."""
    rows = np.array(weights)
    out, depth = rows.shape
    values, group = ", ".join(map(str, (rows.T if kind == "MatMul" else rows).flatten())), ""
    shape = {"Conv": f"{out}, {depth}, 1, 1", "depthwise": f"{out}, 1, 1, {depth}", "MatMul": f"{depth}, {out}"}[kind]
    data = {"Conv": f"1, {depth}, 4, 4", "depthwise": f"1, {out}, 4, {depth + 3}", "MatMul": f"1, {depth}"}[kind]
    op = kind if kind == "MatMul" else "Conv"
    group = f"<group = {out}>" if kind == "depthwise" else ""
    several = f"[{len(scales)}]" if len(scales) > 1 else ""
    axis, zeros = 1 if kind == "MatMul" else 0, ", ".join("0" for _ in scales)
    return text(f"""{HEAD} g (int8[{data}] x) => (int8[N, M, H, W] y)
        <float s = {{0.1}}, float r = {{2.0}}, int8 z = {{0}}, int8[{shape}] w = {{{values}}},
         float{several} t = {{{", ".join(map(str, scales))}}}, int8{several} u = {{{zeros}}}> {{
            a = DequantizeLinear(x, s, z) b = DequantizeLinear<axis = {axis}>(w, t, u)
            c = {op}{group}(a, b) y = QuantizeLinear(c, r, z) }}""")


@pytest.mark.parametrize(
    ("kind", "level"), [("Conv", Level.WARNING), ("depthwise", Level.WARNING), ("MatMul", Level.NOTE)]
)
def test_channels_of_few_integers_beside_one_of_all(kind: str, level: Level, told: Told) -> None:
    (finding,) = few_levels(layer(kind, [[1, -1], [127, 3], [-7, 2], [8, 0]], [0.01]))
    assert finding.level is level
    assert f"2 of 4 {FEW}" in finding.message
    told(finding.message)


@pytest.mark.parametrize("kind", ["Conv", "depthwise", "MatMul"])
@pytest.mark.parametrize(
    ("weights", "scales"),
    [
        ([[8, 1], [127, 3]], [0.01]),  # 17 of 255 integers
        ([[1, 1], [60, 3]], [0.01]),  # nobody uses half of them
        ([[0, 0], [127, 3]], [0.01]),  # nothing is lost of a channel of zeros
        ([[127, 1], [127, 3]], [0.0001, 0.0101]),  # each channel has all of them
    ],
)
def test_what_uses_its_integers_is_left_alone(kind: str, weights: list[list[int]], scales: list[float]) -> None:
    assert not [finding for finding in few_levels(layer(kind, weights, scales)) if FEW in finding.message]


@given(st.lists(st.lists(st.integers(-127, 127), min_size=3, max_size=3), min_size=2, max_size=6))
@settings(max_examples=15, deadline=None)
def test_the_count_of_channels_is_that_of_the_definition(rows: list[list[int]]) -> None:
    reach = [max(map(abs, row)) for row in rows]
    few = sum(0 < most <= 7 for most in reach)
    said = [finding for finding in few_levels(layer("Conv", rows, [0.01])) if "output channels" in finding.message]
    assert bool(said) == (few > 0 and max(reach) >= 64)
    assert all(finding.message.split(": ")[1].startswith(f"{few} of {len(rows)} ") for finding in said)


def test_weights_are_not_read_where_that_is_forbidden() -> None:
    assert few_levels(layer("Conv", [[1, 1], [127, 3]], [0.01]), **{"size-checks-limit": 0}) == []


def depthwise_in_a_tflite_file(reach: int) -> bytes:
    weights = tensor("w", [1, 1, 1, 2], buffer=1, scale=(0.01,))
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    model = one_operator(
        "DEPTHWISE_CONV_2D",
        [tensor("x", [1, 4, 4, 2]), weights, tensor("y", [1, 4, 4, 2])],
        ("DepthwiseConv2DOptions", options),
    )
    return bytes(write({**model, "buffers": [{}, {"data": [reach, 127]}]}))


def test_a_depthwise_layer_of_a_tflite_file() -> None:
    (finding,) = few_levels(depthwise_in_a_tflite_file(2), "m.tflite")
    assert finding.level is Level.WARNING
    assert "1 of 2 output channels" in finding.message
    assert few_levels(depthwise_in_a_tflite_file(100), "m.tflite") == []


def sum_of(small: float) -> object:
    return text(f"""{HEAD} g (int8[1, 4] x, int8[1, 4] v) => (int8[1, 4] y)
        <float s = {{0.1}}, float t = {{{small}}}, int8 z = {{0}}> {{
            a = DequantizeLinear(x, s, z) b = DequantizeLinear(v, t, z) c = Add(a, b) y = QuantizeLinear(c, s, z) }}""")


def test_an_operand_that_moves_a_sum_by_one_step_at_most(told: Told) -> None:
    (finding,) = few_levels(sum_of(0.1 / 256))
    assert finding.level is Level.WARNING
    told(finding.message)
    assert few_levels(sum_of(0.1 / 128)) == []


def test_an_operand_in_a_tflite_file() -> None:
    numbers = [tensor("x", [1, 4]), tensor("v", [1, 4], scale=(0.5 / 300,)), tensor("y", [1, 4])]
    assert len(few_levels(write(one_operator("ADD", numbers, ("AddOptions", {}))), "m.tflite")) == 1
    numbers[1] = tensor("v", [1, 4], scale=(0.4,))
    assert few_levels(write(one_operator("ADD", numbers, ("AddOptions", {}))), "m.tflite") == []


def behind(scales: tuple[float, float], output: float) -> object:
    """Two channels, each a weight of 127, whose sums reach 12.8 x 127 x scale."""
    return text(f"""{HEAD} g (int8[1, 1, 4, 4] x) => (int8[1, 2, 4, 4] y)
        <float s = {{0.1}}, float r = {{{output}}}, int8 z = {{0}}, int8[2, 1, 1, 1] w = {{127, 127}},
         float[2] t = {{{scales[0]}, {scales[1]}}}, int8[2] u = {{0, 0}}> {{
            a = DequantizeLinear(x, s, z) b = DequantizeLinear<axis = 0>(w, t, u)
            c = Conv(a, b) y = QuantizeLinear(c, r, z) }}""")


def test_a_result_that_provably_uses_less_than_half_of_its_integers(told: Told) -> None:
    (finding,) = few_levels(behind((0.01, 0.01), 0.3))
    assert finding.level is Level.NOTE
    told(finding.message)
    assert few_levels(behind((0.01, 0.01), 0.2)) == []


def test_scales_of_a_hundred_to_one_are_told_where_the_result_has_one_scale(told: Told) -> None:
    (finding,) = few_levels(behind((0.0001, 0.01), 0.128))
    assert finding.level is Level.NOTE
    told(finding.message)
    told(finding.message)
    assert few_levels(behind((0.002, 0.01), 0.128)) == []


def test_nothing_is_said_where_the_bounds_leave_it_open() -> None:
    """A channel that is always one number is dead, and no loss."""
    assert few_levels(behind((1e-6, 0.01), 0.128)) == []
    model = text(f"""{HEAD} g (float[1, 4] x) => (int8[1, 4] y) <float s = {{0.1}}, int8 z = {{0}}> {{
        y = QuantizeLinear(x, s, z) }}""")
    assert few_levels(model) == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [float("inf"), float("nan"), 0.0, 3e38])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_scales_of_damaged_files_are_no_reason_to_warn(scale: float, index: int) -> None:
    numbers = [tensor("x", [1, 4, 4, 2]), tensor("w", [1, 1, 1, 2], buffer=1), tensor("y", [1, 4, 4, 2])]
    numbers[index]["quantization"]["scale"] = [scale]
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
    model = one_operator("DEPTHWISE_CONV_2D", numbers, ("DepthwiseConv2DOptions", options))
    said = few_levels(write({**model, "buffers": [{}, {"data": [100, 127]}]}), "m.tflite")
    assert all(FEW not in finding.message for finding in said)


@pytest.mark.parametrize("op", ["CONV_2D", "FULLY_CONNECTED", "SOFTMAX"])
def test_a_damaged_layer_without_operands_is_no_error(op: str) -> None:
    assert few_levels(write(one_operator(op, [tensor("y", [1, 4])])), "m.tflite") == []


def test_a_damaged_shape_too_large_for_numpy_is_no_error() -> None:
    weights = tensor("w", [8, 262148, 4, 262148, 4, 1048594, 0, 524292], buffer=1, scale=(0.01,))
    model = one_operator("FULLY_CONNECTED", [tensor("x", [1, 4]), weights, tensor("y", [1, 8])])
    assert few_levels(write({**model, "buffers": [{}, {"data": [1]}]}), "m.tflite") == []


def test_a_damaged_shape_of_an_onnx_model_too_large_for_numpy_is_no_error() -> None:
    damaged = layer("Conv", [[1, -1], [127, 3]], [0.01])
    weights = next(constant for constant in damaged.graph.initializer if constant.name == "w")
    weights.CopyFrom(onnx.TensorProto(name="w", data_type=onnx.TensorProto.INT8, dims=[2, 2**30, 2**30, 0, 3]))
    assert few_levels(damaged) == []


@pytest.mark.parametrize("shape", [[0, 4], [8, 0]])
def test_damaged_weights_without_elements_are_no_error(shape: list[int]) -> None:
    tensors = [tensor("x", [1, 4]), tensor("w", shape, buffer=1, scale=(0.01,)), tensor("y", [1, 8])]
    assert few_levels(write(one_operator("FULLY_CONNECTED", tensors, buffers=[{}, {"data": [1]}])), "m.tflite") == []
