"""Where a layer's sum can take a constant."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnxlint_cmsis.analysis.constants import BiasSlot, bias_scales, bias_slot
from support.dims_graphs import Builder


def slot_of(build: Builder, name: str, *outputs: str) -> BiasSlot | None:
    graph = build.graph(*outputs)
    return bias_slot(graph, next(node for node in graph.nodes if node.name == name))


def quantized_conv(unit: float, count: int = 3, zero: int | None = None) -> tuple[Builder, str]:
    """A QDQ convolution with scales 0.5 and [0.25, 0.5, 1], its bias in `unit` times those."""
    build = Builder()
    scales = np.array([0.25, 0.5, 1], np.float32)
    data = build.op(
        "DequantizeLinear", build.input("x", 1, 2, 4, 4, elem_type=TensorProto.INT8), build.const(0.5, np.float32)
    )
    weights = build.op("DequantizeLinear", build.const(np.ones((3, 2, 1, 1)), np.int8), build.const(scales), axis=0)
    inputs = [build.const(np.ones(count), np.int32, "b"), build.const(scales[:count] * unit, np.float32)]
    inputs += [] if zero is None else [build.const(np.full(count, zero), np.int32)]
    bias = build.op("DequantizeLinear", *inputs, axis=0)
    return build, build.op("Conv", data, weights, bias, name="conv")


def test_a_float_bias_is_not_exact() -> None:
    build = Builder()
    output = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="conv")
    assert slot_of(build, "conv", output) == BiasSlot("float", "c1", 0, 2, False)


def test_a_float_bias_may_be_added() -> None:
    build = Builder()
    output = build.op("Conv", build.input("x", 1, 2, 4, 4), build.weights(3, 2, 1, 1), name="conv")
    assert slot_of(build, "conv", output) == BiasSlot("float", "", 0, 2, False)


@pytest.mark.parametrize(("unit", "exact"), [(0.5, True), (0.5 * (1 + 2**-23), True), (0.51, False)])
def test_a_dequantized_bias_is_exact_in_the_unit_of_the_sum(unit: float, exact: bool) -> None:
    build, output = quantized_conv(unit)
    slot = slot_of(build, "conv", output)
    assert slot[:5] == ("dequantized", "b", 3, 2, exact)
    assert slot.scales == pytest.approx((0.25 * unit, 0.5 * unit, unit))
    graph = build.graph(output)
    assert bias_scales(graph, graph.nodes[3]) == (0.125, 0.25, 0.5)


def test_a_dequantized_bias_with_a_zero_point_is_left_alone() -> None:
    build, output = quantized_conv(0.5, zero=0)
    assert slot_of(build, "conv", output) is not None
    build, output = quantized_conv(0.5, zero=1)
    assert slot_of(build, "conv", output) is None


def test_a_dequantized_bias_that_others_read_is_left_alone() -> None:
    build, output = quantized_conv(0.5)
    other = build.op("Identity", "dequantizelinear2_0")
    assert slot_of(build, "conv", output, other) is None


def test_a_new_bias_of_a_quantized_layer_is_quantized() -> None:
    build, output = quantized_conv(0.5)
    del build.nodes[3].input[2]
    assert slot_of(build, "conv", output)[:5] == ("dequantized", "", 3, 2, True)


def test_a_bias_that_a_caller_may_replace_is_left_alone() -> None:
    build = Builder()
    output = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="conv")
    build.inputs.append(helper.make_tensor_value_info("c1", TensorProto.FLOAT, [3]))
    assert slot_of(build, "conv", output) is None


def test_a_computed_bias_is_left_alone() -> None:
    build = Builder()
    bias = build.op("Relu", build.weights(3))
    output = build.op("Conv", build.input("x", 1, 2, 4, 4), build.weights(3, 2, 1, 1), bias, name="conv")
    assert slot_of(build, "conv", output) is None


@pytest.mark.parametrize(
    ("shape", "has_slot"), [((3,), True), ((1, 3), True), ((1,), False), ((2, 3), False), ((), False)]
)
def test_the_bias_of_gemm_has_a_number_per_column(shape: tuple[int, ...], has_slot: bool) -> None:
    build = Builder()
    bias = build.const(np.ones(shape), np.float32, "b")
    output = build.op("Gemm", build.input("x", 2, 4), build.weights(4, 3), bias, name="gemm")
    assert slot_of(build, "gemm", output) == (BiasSlot("float", "b", 0, 2, False) if has_slot else None)


def test_gemm_with_beta_zero_has_no_bias() -> None:
    build = Builder()
    output = build.op("Gemm", build.input("x", 2, 4), build.weights(4, 3), build.weights(3), name="gemm", beta=0.0)
    assert slot_of(build, "gemm", output) is None


def test_the_sum_after_a_product() -> None:
    build = Builder()
    product = build.op("MatMul", build.input("x", 2, 4), build.weights(4, 3), name="matmul")
    output = build.op("Add", build.const(np.ones(3), np.float32, "b"), product)
    assert slot_of(build, "matmul", output) == BiasSlot("float", "b", 1, 0, False)
    assert slot_of(build, "matmul", output, product) is None
    assert slot_of(build, "matmul", product) is None


def test_weights_on_the_left_have_no_slot() -> None:
    build = Builder()
    product = build.op("MatMul", build.weights(3, 4), build.input("x", 4, 3), name="matmul")
    assert slot_of(build, "matmul", build.op("Add", product, build.weights(3))) is None


@pytest.mark.parametrize(("shape", "has_slot"), [((1, 3, 1, 1), True), ((3, 1, 1), True), ((3,), False)])
def test_the_sum_after_an_integer_convolution(shape: tuple[int, ...], has_slot: bool) -> None:
    build = Builder()
    data = build.input("x", 1, 2, 3, 3, elem_type=TensorProto.UINT8)
    output = build.op("ConvInteger", data, build.const(np.ones((3, 2, 1, 1)), np.uint8), name="conv")
    output = build.op("Add", output, build.const(np.ones(shape), np.int32, "b"))
    assert slot_of(build, "conv", output) == (BiasSlot("int32", "b", 1, 1, True) if has_slot else None)


def test_layers_in_subgraphs_have_no_slot() -> None:
    build = Builder()
    data = build.input("x", 1, 2, 4, 4)
    inner = helper.make_node("Conv", [data, build.weights(3, 2, 1, 1), build.weights(3)], ["y"], "conv")
    branch = helper.make_graph([inner], "b", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 4, 4])])
    output = build.op("If", build.input("yes", elem_type=TensorProto.BOOL), then_branch=branch, else_branch=branch)
    assert slot_of(build, "conv", output) is None
