"""Names of operators: a row of a format's table says what a node is, by domain and name, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.formats.names import UNKNOWN, operator_named
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.lower.work import macs_of
from onnxlint_cmsis.model.graph import TFLITE, Graph
from support.dims_graphs import Builder
from support.tflite_chains import Chain


@pytest.mark.parametrize(
    ("domain", "name", "of"),
    [
        ("", "ConvInteger", "Conv"),
        ("", "QLinearConv", "Conv"),
        ("com.microsoft", "FusedConv", "Conv"),
        (TFLITE, "CONV_2D", "Conv"),
        (TFLITE, "DEPTHWISE_CONV_2D", "Conv"),
        (TFLITE, "TRANSPOSE_CONV", "ConvTranspose"),
        ("com.microsoft", "QGemm", "Gemm"),
        (TFLITE, "FULLY_CONNECTED", "MatMul"),
        (TFLITE, "MEAN", "ReduceMean"),
        (TFLITE, "SPLIT_V", "Split"),
    ],
)
def test_names_are_read_as_one_operator(domain: str, name: str, of: str) -> None:
    record = operator_named(domain, name)
    assert (record.domain, record.name, record.root) == (domain, name, operator_named("", of))
    assert record.canonical == of


@pytest.mark.parametrize(
    ("domain", "name"),
    [("com.microsoft", "QuickGelu"), ("com.microsoft", "BiasGelu"), (TFLITE, "FLOOR_DIV"), (TFLITE, "REDUCE_ANY")],
)
def test_a_name_with_the_shapes_of_another_operator_is_not_that_operator(domain: str, name: str) -> None:
    record = operator_named(domain, name)
    assert record.root is not record
    assert record.canonical == name


@pytest.mark.parametrize(
    ("domain", "name"), [("my.vendor", "Conv"), ("", "CONV_2D"), (TFLITE, "Conv"), ("tflite.custom", "CONV_2D")]
)
def test_a_name_of_another_domain_is_not_translated(domain: str, name: str) -> None:
    assert operator_named(domain, name) is UNKNOWN


def work(op_type: str, inputs: list[str], domain: str, build: Builder, **attributes: int) -> int | None:
    """Multiply-accumulates of one node."""
    graph = build.graph(build.op(op_type, *inputs, domain=domain, **attributes))
    return macs_of(graph, next(node for node in graph.nodes if node.op_type == op_type))


def test_an_operator_of_another_domain_has_no_work_of_ours() -> None:
    build = Builder()
    assert work("Conv", [build.input("x", 1, 4, 8, 8), build.weights(6, 4, 3, 3)], "my.vendor", build) == 0


def test_work_of_a_product_with_a_measured_scale() -> None:
    build = Builder()
    weights, scale = build.const(np.ones((7, 3), np.int8)), build.const(np.float32(0.1))
    inputs = [build.input("x", 5, 7), weights, scale]
    assert work("DynamicQuantizeMatMul", inputs, "com.microsoft", build) == 5 * 7 * 3


def test_work_of_a_batch_of_products_with_a_factor_turned() -> None:
    build = Builder()
    inputs = [build.input("x", 2, 7, 5), build.weights(2, 7, 3)]
    assert work("FusedMatMul", inputs, "com.microsoft", build, transA=1) == 2 * 5 * 7 * 3


def in_onnx(groups: int, inner: int, outer: int) -> Graph:
    """A convolution with so many groups, each with so many input and output channels, between two others."""
    build = Builder()
    data = build.op("Conv", build.input("x", 1, 2, 6, 6), build.weights(groups * inner, 2, 1, 1))
    data = build.op("Conv", data, build.weights(groups * outer, inner, 3, 3), group=groups)
    return build.graph(build.op("Conv", data, build.weights(3, groups * outer, 1, 1)))


def in_tflite(groups: int, inner: int, outer: int) -> Graph:
    """The same as CONV_2D, and as DEPTHWISE_CONV_2D where each channel is a group."""
    chain = Chain(0)
    depthwise = groups > 1 and inner == 1
    middle = [1, 3, 3, groups * outer] if depthwise else [groups * outer, 3, 3, inner]
    layers = (([groups * inner, 1, 1, 2], 6), (middle, 4), ([3, 1, 1, groups * outer], 4))
    start = data = chain.activation([1, 6, 6, 2])
    for index, (shape, size) in enumerate(layers):
        turned = depthwise and index == 1
        weights = chain.constant(np.ones(shape, np.int8), [0.1])
        output = chain.activation([1, size, size, shape[3 if turned else 0]])
        options: dict[str, object] = {"padding": "VALID", "stride_w": 1, "stride_h": 1}
        if turned:
            table = ("DepthwiseConv2DOptions", options | {"depth_multiplier": outer})
            data = chain.add("DEPTHWISE_CONV_2D", [data, weights], output, table)
        else:
            data = chain.add("CONV_2D", [data, weights], output, ("Conv2DOptions", options))
    return load_tflite("a.tflite", data=chain.model([start], [data])).graph


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_a_convolution_has_the_same_classes_in_both_formats(groups: int, inner: int, outer: int) -> None:
    described = [
        [(group.size, group.freedom, len(group.deciders), len(group.readers)) for group in analyse(graph).classes]
        for graph in (in_onnx(groups, inner, outer), in_tflite(groups, inner, outer))
    ]
    assert described[0] == described[1]
