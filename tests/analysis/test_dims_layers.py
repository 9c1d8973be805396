"""Layers: who decides, who reads, and what a depthwise, grouped or transposed convolution does to the channels."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from onnxlint_cmsis.analysis.dimensions import Dimensions
from support.dims_graphs import Builder, freedom, labels, prove, reasons
from support.goldens import Told
from support.stems import head


def readers(dimensions: Dimensions, tensor: str, axis: int) -> list[str]:
    group = dimensions.class_of(tensor, axis)
    assert group is not None
    return [reader.label for reader in group.readers]


def stem(channels: int = 6, rank: int = 4) -> tuple[Builder, str]:
    """A model that starts with a convolution `stem` from 3 to `channels` channels."""
    build = Builder()
    data = build.input("x", 1, 3, *[8] * (rank - 2))
    weights = build.weights(channels, 3, *[3] * (rank - 2))
    return build, build.op("Conv", data, weights, build.weights(channels), name="stem", pads=[1] * 2 * (rank - 2))


def test_a_chain_of_convolutions() -> None:
    build, data = stem()
    result = head(build, build.op("Relu", data), 6)
    dimensions = prove(build, result)
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    assert labels(dimensions, "stem_0", 1) == ["stem"]
    assert readers(dimensions, "stem_0", 1) == ["head"]
    assert reasons(dimensions, "x", 1) == ["graph input x"]
    assert reasons(dimensions, result, 1) == [f"graph output {result}"]
    assert dimensions.class_of("stem_0", 2) is None
    expected = [f"{name}: Conv computes along this axis" for name in ("stem", "head")]
    assert reasons(dimensions, "stem_0", 2) == expected
    members = dimensions.class_of("stem_0", 1).members
    assert members == (("c0", 0), ("c1", 0), ("stem_0", 1), ("relu1_0", 1), ("c2", 1))


def test_a_residual_couples() -> None:
    build, data = stem()
    inner = build.conv(data, 6, 4, name="inner")
    outer = build.conv(inner, 4, 6, name="outer")
    dimensions = prove(build, head(build, build.op("Add", data, outer), 6))
    assert freedom(dimensions, "stem_0", 1) == "COUPLED"
    assert labels(dimensions, "stem_0", 1) == ["stem", "outer"]
    assert labels(dimensions, "inner_0", 1) == ["inner"]


def test_depthwise_decides_too() -> None:
    build, data = stem()
    dimensions = prove(build, head(build, build.conv(data, 1, 6, 3, group=6, name="deep"), 6))
    assert freedom(dimensions, "deep_0", 1) == "COUPLED"
    assert labels(dimensions, "deep_0", 1) == ["stem", "deep"]
    assert dimensions.multiplier_class(1) is None
    (named,) = (name for name in dimensions.size_names if name.attribute == "group")
    assert (named.node, [part.leaf for part in named.parts]) == (1, [dimensions.class_of("deep_0", 1).id])


def test_depthwise_multiplier_is_a_class_of_its_own() -> None:
    build, data = stem(4)
    dimensions = prove(build, head(build, build.conv(data, 1, 12, 3, group=4, name="deep"), 12))
    assert dimensions.channel_text("deep_0", 1) == "12 = 4 x 3"
    multiplier = dimensions.multiplier_class(1)
    assert multiplier is not None
    assert (multiplier.size, multiplier.freedom.value) == (3, "FREE")
    assert labels(dimensions, "stem_0", 1) == ["stem", "deep"]
    assert dimensions.leaves("deep_0", 1) == (dimensions.class_of("stem_0", 1).id, multiplier.id)


def test_grouped_convolution_moves_within_groups(told: Told) -> None:
    build, data = stem(6)
    dimensions = prove(build, head(build, build.conv(data, 3, 4, group=2, name="grouped"), 4))
    assert dimensions.channel_text("stem_0", 1) == "6 = 2 x 3"
    assert dimensions.channel_text("grouped_0", 1) == "4 = 2 x 2"
    told(reasons(dimensions, "stem_0", 1))


@pytest.mark.parametrize("rank", [3, 5])
def test_other_ranks(rank: int) -> None:
    build, data = stem(6, rank)
    weights = build.weights(2, 6, *[1] * (rank - 2))
    dimensions = prove(build, build.op("Conv", data, weights))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_one_channel_looks_like_a_plain_convolution() -> None:
    build, data = stem(1)
    dimensions = prove(build, build.conv(data, 1, 2, 3))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_transposed_convolution() -> None:
    build, data = stem(6)
    output = build.op("ConvTranspose", data, build.weights(6, 5, 2, 2), build.weights(5), name="up", strides=[2, 2])
    dimensions = prove(build, head(build, output, 5))
    assert (labels(dimensions, "stem_0", 1), readers(dimensions, "stem_0", 1)) == (["stem"], ["up"])
    assert (labels(dimensions, "up_0", 1), readers(dimensions, "up_0", 1)) == (["up"], ["head"])


@pytest.mark.parametrize(("share", "texts"), [(1, ["6", "6"]), (3, ["6", "18 = 6 x 3"])])
def test_transposed_depthwise(share: int, texts: list[str]) -> None:
    build, data = stem(6)
    output = build.op(
        "ConvTranspose", data, build.weights(6, share, 2, 2), build.weights(6 * share), name="up", group=6
    )
    dimensions = prove(build, head(build, output, 6 * share))
    assert [dimensions.channel_text(name, 1) for name in ("stem_0", "up_0")] == texts
    assert labels(dimensions, "stem_0", 1) == ["stem", "up"]
    assert (dimensions.multiplier_class(1) is None) == (share == 1)


def test_transposed_grouped() -> None:
    build, data = stem(6)
    output = build.op("ConvTranspose", data, build.weights(6, 2, 2, 2), build.weights(4), name="up", group=2)
    dimensions = prove(build, head(build, output, 4))
    assert [dimensions.channel_text(name, 1) for name in ("stem_0", "up_0")] == ["6 = 2 x 3", "4 = 2 x 2"]


@pytest.mark.parametrize("turned", [0, 1])
def test_gemm(turned: int) -> None:
    build = Builder()
    data = build.input("x", 1, 5)
    first = build.op("Gemm", data, build.weights(5, 7), build.weights(7), name="first")
    weights = build.weights(3, 7) if turned else build.weights(7, 3)
    dimensions = prove(build, build.op("Gemm", first, weights, build.weights(1, 3), name="last", transB=turned))
    assert (labels(dimensions, "first_0", 1), readers(dimensions, "first_0", 1)) == (["first"], ["last"])
    assert freedom(dimensions, "first_0", 1) == "FREE"


def test_gemm_with_weights_on_the_left() -> None:
    build = Builder()
    data = build.input("x", 5, 1)
    first = build.op("Gemm", build.weights(5, 7), data, build.weights(7, 1), name="first", transA=1)
    dimensions = prove(build, build.op("MatMul", build.weights(3, 7), first, name="last"))
    assert (labels(dimensions, "first_0", 0), readers(dimensions, "first_0", 0)) == (["first"], ["last"])


def test_matmul_of_higher_rank_with_its_bias() -> None:
    build = Builder()
    data = build.input("x", 1, 4, 5)
    first = build.op("MatMul", data, build.weights(5, 7), name="first")
    biased = build.op("Relu", build.op("Add", first, build.weights(7)))
    dimensions = prove(build, build.op("MatMul", biased, build.weights(7, 3), name="last"))
    assert freedom(dimensions, "first_0", 2) == "FREE"
    assert readers(dimensions, "first_0", 2) == ["last"]


def test_matmul_with_a_vector() -> None:
    build = Builder()
    first = build.op("MatMul", build.input("x", 4, 5), build.weights(5, 7), name="first")
    dimensions = prove(build, build.op("MatMul", first, build.weights(7), name="last"))
    assert freedom(dimensions, "first_0", 1) == "FREE"


def test_a_product_of_two_activations_mixes(told: Told) -> None:
    build = Builder()
    data = build.input("x", 1, 4, 5)
    query = build.op("MatMul", data, build.weights(5, 7), name="query")
    key = build.op("MatMul", data, build.weights(5, 7), name="key")
    value = build.op("MatMul", data, build.weights(5, 6), name="value")
    scores = build.op("MatMul", query, build.op("Transpose", key, perm=[0, 2, 1]), name="scores")
    dimensions = prove(build, build.op("MatMul", build.op("MatMul", scores, value), build.weights(6, 3)))
    told(reasons(dimensions, "query_0", 2))
    assert freedom(dimensions, "key_0", 2) == "LOCKED"
    assert freedom(dimensions, "value_0", 2) == "FREE"


def test_weights_computed_from_constants_decide() -> None:
    build = Builder()
    data = build.input("x", 1, 3, 4, 4)
    integers = build.const(np.ones((6, 3, 1, 1)), np.int8)
    scale, zero = build.const(np.full(6, 0.5), np.float32), build.const(np.zeros(6), np.int8)
    weights = build.op("Identity", build.op("DequantizeLinear", integers, scale, zero, axis=0))
    first = build.op("Conv", data, weights, name="first")
    flat = build.op("Flatten", build.op("GlobalAveragePool", first))
    turned = build.op("Transpose", build.weights(2, 6), perm=[1, 0])
    dimensions = prove(build, build.op("MatMul", flat, turned, name="last"))
    group = dimensions.class_of("first_0", 1)
    assert group is not None
    assert (group.freedom.value, labels(dimensions, "first_0", 1)) == ("FREE", ["first"])
    assert {("c0", 0), ("c1", 0), ("c2", 0), ("c3", 1)} <= set(group.members)


def test_weights_made_at_run_time_decide_nothing() -> None:
    build = Builder()
    data, weights = build.input("x", 1, 3, 4, 4), build.input("w", 6, 3, 1, 1)
    dimensions = prove(build, head(build, build.op("Conv", data, weights, name="first"), 6))
    assert labels(dimensions, "first_0", 1) == []
    assert reasons(dimensions, "first_0", 1) == ["graph input w"]


def test_shared_weights_couple_and_a_shared_vector_does_not() -> None:
    build = Builder()
    data = build.input("x", 1, 4, 4, 4)
    weights, bias = build.weights(4, 4, 1, 1), build.weights(4)
    first = build.op("Conv", data, weights, bias, name="first")
    second = build.op("Conv", first, build.weights(4, 4, 1, 1), bias, name="second")
    third = build.op("Conv", second, weights, bias, name="third")
    dimensions = prove(build, third)
    assert freedom(dimensions, "second_0", 1) == "LOCKED"
    assert freedom(dimensions, "first_0", 1) == "LOCKED"

    build = Builder()
    data = build.input("x", 1, 4, 4, 4)
    bias = build.weights(4)
    first = build.op("Conv", data, build.weights(4, 4, 1, 1), bias, name="first")
    second = build.op("Conv", first, build.weights(4, 4, 1, 1), bias, name="second")
    dimensions = prove(build, head(build, second, 4))
    assert (labels(dimensions, "first_0", 1), labels(dimensions, "second_0", 1)) == (["first"], ["second"])
    assert dimensions.input_axes(0, 2) != dimensions.input_axes(1, 2)


def test_normalisation_per_channel() -> None:
    build, data = stem()
    numbers = [build.const(np.full(6, 0.7), np.float32) for _ in range(4)]
    normed = build.op("BatchNormalization", data, *numbers)
    slopes = build.op("PRelu", normed, build.weights(6, 1, 1))
    scaled = build.op("InstanceNormalization", slopes, build.weights(6), build.weights(6))
    dimensions = prove(build, head(build, scaled, 6))
    group = dimensions.class_of("stem_0", 1)
    assert group.freedom.value == "FREE"
    assert {(name, 0) for name in (*numbers, "c6", "c7", "c8")} <= set(group.members)


def test_qlinear_conv() -> None:
    build = Builder()
    data = build.input("x", 1, 3, 4, 4, elem_type=TensorProto.UINT8)
    scale, zero = build.const(0.5, np.float32), build.const(3, np.uint8)

    def layer(data: str, columns: int, rows: int, name: str) -> str:
        weights = build.const(build.random.integers(-5, 5, (rows, columns, 1, 1)), np.int8)
        scales, zeros = build.const(np.full(rows, 0.1), np.float32), build.const(np.zeros(rows), np.int8)
        bias = build.const(build.random.integers(-5, 5, rows), np.int32)
        return build.op("QLinearConv", data, scale, zero, weights, scales, zeros, scale, zero, bias, name=name)

    first = layer(data, 3, 6, "first")
    summed = build.op("QLinearAdd", first, scale, zero, first, scale, zero, scale, zero, domain="com.microsoft")
    dimensions = prove(build, layer(summed, 6, 2, "last"))
    assert freedom(dimensions, "first_0", 1) == "FREE"
    assert len(dimensions.class_of("first_0", 1).members) == 7


def test_qlinear_where_ties_what_it_chooses_from() -> None:
    build = Builder()
    data = build.input("x", 1, 3, 4, 4, elem_type=TensorProto.UINT8)
    scale, zero = build.const(0.5, np.float32), build.const(3, np.uint8)

    def layer(data: str, columns: int, rows: int, name: str) -> str:
        weights = build.const(build.random.integers(-5, 5, (rows, columns, 1, 1)), np.int8)
        return build.op(
            "QLinearConv", data, scale, zero, weights, scale, build.const(0, np.int8), scale, zero, name=name
        )

    first, second = layer(data, 3, 6, "first"), layer(data, 3, 6, "second")
    condition = build.input("c", 1, 1, 4, 4, elem_type=TensorProto.BOOL)
    where = build.op(
        "QLinearWhere", condition, first, scale, zero, second, scale, zero, scale, zero, domain="com.microsoft"
    )
    dimensions = prove(build, layer(where, 6, 2, "last"))
    assert dimensions.class_of("first_0", 1) == dimensions.class_of("second_0", 1)
    assert freedom(dimensions, "first_0", 1) == "COUPLED"


def test_integer_layers() -> None:
    build = Builder()
    data = build.input("x", 1, 3, 4, 4, elem_type=TensorProto.UINT8)
    weights = build.const(build.random.integers(1, 9, (6, 3, 1, 1)), np.uint8)
    sums = build.op("ConvInteger", data, weights, build.const(1, np.uint8), build.const(2, np.uint8), name="first")
    bytes_ = build.op("Cast", build.op("Cast", sums, to=TensorProto.FLOAT), to=TensorProto.UINT8)
    flat = build.op("Reshape", build.op("Transpose", bytes_, perm=[0, 2, 3, 1]), build.ints(16, -1))
    last = build.const(build.random.integers(1, 9, (6, 2)), np.uint8)
    zeros = build.const([2, 2], np.uint8)
    dimensions = prove(build, build.op("MatMulInteger", flat, last, build.const(0, np.uint8), zeros, name="last"))
    assert freedom(dimensions, "first_0", 1) == "FREE"
    assert readers(dimensions, "first_0", 1) == ["last"]


def test_fused_layers_of_onnx_runtime() -> None:
    build, data = stem()
    fused = build.op("FusedConv", data, build.weights(6, 6, 1, 1), build.weights(6), data, domain="com.microsoft",
                     activation="Relu", name="fused")  # fmt: skip
    dimensions = prove(build, head(build, fused, 6))
    assert labels(dimensions, "fused_0", 1) == ["stem", "fused"]


def quantized(build: Builder, data: str, columns: int, rows: int, name: str) -> str:
    """A QGemm with scales and zero-points per column."""
    scale, zero = build.const(0.5, np.float32), build.const(3, np.uint8)
    weights = build.const(build.random.integers(-5, 5, (columns, rows)), np.int8)
    scales, zeros = build.const(np.full(rows, 0.1), np.float32), build.const(np.zeros(rows), np.int8)
    bias = build.const(build.random.integers(-5, 5, rows), np.int32)
    given = (data, scale, zero, weights, scales, zeros, bias, scale, zero)
    return build.op("QGemm", *given, domain="com.microsoft", name=name)


def test_quantized_operators_of_onnx_runtime() -> None:
    build = Builder()
    scale, zero = build.const(0.5, np.float32), build.const(3, np.uint8)
    first = quantized(build, build.input("x", 1, 5, elem_type=TensorProto.UINT8), 5, 6, "first")
    second = quantized(build, "x", 5, 4, "second")
    curved = build.op("QLinearSigmoid", first, scale, zero, scale, zero, domain="com.microsoft")
    parts = (scale, zero, curved, scale, zero, second, scale, zero)
    both = build.op("QLinearConcat", *parts, axis=1, domain="com.microsoft", name="both")
    dimensions = prove(build, quantized(build, both, 10, 2, "last"))
    assert dimensions.channel_text("both_0", 1) == "[6 + 4]"
    assert [freedom(dimensions, name, 1) for name in ("first_0", "second_0")] == ["FREE", "FREE"]
    assert len(dimensions.class_of("first_0", 1).members) == 8


def test_quantized_pooling_of_onnx_runtime() -> None:
    build, data = stem()
    scale, zero = build.const(0.5, np.float32), build.const(3, np.uint8)
    data = build.op("QuantizeLinear", data, scale, zero)
    pooled = build.op("QLinearGlobalAveragePool", data, scale, zero, scale, zero, domain="com.microsoft", name="pool")
    dimensions = prove(build, head(build, build.op("DequantizeLinear", pooled, scale, zero), 6))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_a_range_over_all_lanes_locks() -> None:
    build = Builder()
    data = build.op("Gemm", build.input("x", 1, 3), build.weights(3, 6), name="stem")
    weights, scale = build.const(np.ones((6, 2)), np.uint8), build.const(0.5, np.float32)
    dimensions = prove(build, build.op("DynamicQuantizeMatMul", data, weights, scale, domain="com.microsoft"))
    assert freedom(dimensions, "stem_0", 1) == "LOCKED"


def test_gemm_of_the_wrong_rank_locks_with_the_reason(told: Told) -> None:
    build = Builder()
    data = build.op("Relu", build.input("x", 1, 2, 3), name="data")
    build.op("Gemm", data, build.weights(3, 4), name="bad")
    dimensions = build.analyse("data_0")
    told(reasons(dimensions, "data_0", 1))
