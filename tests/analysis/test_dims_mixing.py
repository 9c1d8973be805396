"""Element-wise operators, broadcasting, and operators that mix or count an axis."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.formats.names import operator_named
from support.dims_graphs import Builder, freedom, prove, reasons
from support.goldens import Told
from support.models import read
from support.stems import dense, head, last, stem


@pytest.mark.parametrize(
    "op_type",
    [
        "Relu",
        "LeakyRelu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Tanh",
        "Abs",
        "Neg",
        "Exp",
        "Floor",
        "Clip",
        "Identity",
        "Dropout",
        "Softplus",
        "Elu",
    ],
)
def test_one_input_goes_through(op_type: str) -> None:
    build, data = stem()
    dimensions = prove(build, head(build, build.op(op_type, data)))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Max", "Min", "Sum", "PRelu"])
@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1, 1), (1, 1, 1), (1,), ()])
def test_constants_per_channel_or_for_all(op_type: str, shape: tuple[int, ...]) -> None:
    build, data = stem()
    dimensions = prove(build, head(build, build.op(op_type, data, build.weights(*shape))))
    group = dimensions.class_of("stem_0", 1)
    assert group.freedom.value == "FREE"
    assert any(name == "c2" for name, _ in group.members) == (6 in shape)


def test_a_gate_per_channel_is_tied() -> None:
    build, data = stem()
    gate = build.op("Sigmoid", build.conv(build.op("GlobalAveragePool", data), 6, 6, name="gate"))
    dimensions = prove(build, head(build, build.op("Mul", data, gate)))
    assert dimensions.class_of("stem_0", 1) == dimensions.class_of("gate_0", 1)


def test_a_mask_over_the_channels_stays_one(told: Told) -> None:
    build, data = stem()
    mask = build.conv(data, 6, 1, name="mask")
    dimensions = prove(build, head(build, build.op("Mul", data, mask, name="masked")))
    assert freedom(dimensions, "stem_0", 1) == "FREE"
    told(reasons(dimensions, "mask_0", 1))


def test_one_channel_everywhere_may_grow() -> None:
    build, data = stem(1)
    other = build.conv("x", 3, 1, name="other")
    dimensions = prove(build, head(build, build.op("Mul", build.op("Add", data, other), build.weights(1)), 1))
    assert freedom(dimensions, "stem_0", 1) == "COUPLED"


def test_vectors_align_at_the_last_axis() -> None:
    build, data = dense()
    dimensions = prove(build, last(build, build.op("Add", data, build.weights(6))))
    assert ("c2", 0) in dimensions.class_of("stem_0", 1).members


def test_where_and_comparisons() -> None:
    build, data = stem()
    chosen = build.op("Where", build.op("Greater", data, build.weights(6, 1, 1)), data, build.weights(6, 1, 1))
    dimensions = prove(build, head(build, chosen))
    assert {("c2", 0), ("c3", 0)} <= set(dimensions.class_of("stem_0", 1).members)


def test_pooling_keeps_the_channels() -> None:
    build, data = stem()
    for op_type in ("MaxPool", "AveragePool", "LpPool"):
        data = build.op(op_type, data, kernel_shape=[2, 2])
    dimensions = prove(build, head(build, build.op("GlobalMaxPool", data)))
    assert freedom(dimensions, "stem_0", 1) == "FREE"


def test_indices_of_a_pool_count_the_channels(told: Told) -> None:
    build, data = stem()
    pooled, indices = build.op("MaxPool", data, kernel_shape=[2, 2], out=["pooled", "indices"], name="pool")
    dimensions = prove(build, head(build, pooled), indices)
    told(reasons(dimensions, "stem_0", 1))


@pytest.mark.parametrize(("opset", "axis", "locked"), [(17, 1, True), (17, 0, False), (11, 0, True), (11, 1, True)])
def test_softmax_before_and_after_opset_13(opset: int, axis: int, locked: bool) -> None:
    build, data = dense(opset=opset)
    dimensions = prove(build, last(build, build.op("Softmax", data, axis=axis, name="mix")))
    assert [lock.node for lock in dimensions.locks("stem_0", 1)] == ["mix"] * locked


@pytest.mark.parametrize("op_type", ["LogSoftmax", "Hardmax", "LpNormalization"])
def test_last_axis_is_mixed(op_type: str, told: Told) -> None:
    build, data = dense()
    build.op(op_type, data, name="mix")
    told(reasons(build.analyse(last(build, "mix_0")), "stem_0", 1))


@pytest.mark.parametrize(("axis", "free"), [(1, False), (2, True)])
@pytest.mark.parametrize("keep", [0, 1])
def test_reductions_lock_what_they_sum(axis: int, free: bool, keep: int) -> None:
    build, data = stem()
    output = build.op("ReduceMean", data, axes=[axis], keepdims=keep, name="mean")
    plane = [1, 6, 4, 4]
    plane[axis] = 1
    if not keep:
        plane.pop(axis)
    dimensions = prove(build, build.op("Conv", output, build.weights(2, plane[1], *[1] * (len(plane) - 2))))
    assert (not reasons(dimensions, "stem_0", 1)) == free


def test_reduction_of_everything_and_of_nothing(told: Told) -> None:
    build, data = stem()
    dimensions = prove(build, build.op("ReduceMax", data, name="most"))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    same = build.op("ReduceSum", data, "", noop_with_empty_axes=1)
    assert freedom(prove(build, head(build, same)), "stem_0", 1) == "FREE"


def test_reduction_of_nothing_with_one_input() -> None:
    """As an empty second input; ONNX Runtime 1.18 to 1.23 fail to run it."""
    build, data = stem()
    model = build.model(head(build, build.op("ReduceSum", data, noop_with_empty_axes=1)))
    assert freedom(analyse(read(model)), "stem_0", 1) == "FREE"


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
def test_positions_count(op_type: str, told: Told) -> None:
    build, data = stem()
    positions = build.op("Cast", build.op(op_type, data, axis=1, keepdims=0, name="where"), to=TensorProto.FLOAT)
    dimensions = prove(build, build.op("MatMul", positions, build.weights(4, 2)))
    told(reasons(dimensions, "stem_0", 1))


def test_top_k_and_cumulative_sums(told: Told) -> None:
    build, data = dense()
    values, _ = build.op("TopK", data, build.ints(3), out=["values", "places"], name="top")
    dimensions = prove(build, last(build, values, 3))
    told(reasons(dimensions, "stem_0", 1))
    build, data = dense()
    dimensions = prove(build, last(build, build.op("CumSum", data, build.const(1, np.int64), name="sums")))
    told(reasons(dimensions, "stem_0", 1))


def test_normalisation_over_axes(told: Told) -> None:
    build, data = dense()
    dimensions = prove(build, last(build, build.op("LayerNormalization", data, build.weights(6), name="norm")))
    told(reasons(dimensions, "stem_0", 1))
    build, data = stem()
    dimensions = prove(build, head(build, build.op("LRN", data, size=3, name="near")))
    told(reasons(dimensions, "stem_0", 1))


def test_group_normalization(told: Told) -> None:
    build, data = stem(opset=21)
    norm = build.op("GroupNormalization", data, build.weights(6), build.weights(6), num_groups=2, name="norm")
    told(reasons(build.analyse(head(build, norm)), "stem_0", 1))


def test_quantization_per_tensor_and_per_axis() -> None:
    build, data = stem()
    scale, zero = build.const([0.1], np.float32), build.const([0], np.int8)
    scales, zeros = build.const(np.full(6, 0.1), np.float32), build.const(np.zeros(6), np.int8)
    data = build.op("DequantizeLinear", build.op("QuantizeLinear", data, scale, zero), scale, zero)
    data = build.op("DequantizeLinear", build.op("QuantizeLinear", data, scales, zeros), scales, zeros)
    dimensions = prove(build, head(build, data))
    names = {name for name, _ in dimensions.class_of("stem_0", 1).members}
    assert {"c4", "c5"} <= names
    assert not {"c2", "c3"} & names


def test_blocked_quantization_locks_the_blocked_axis(told: Told) -> None:
    build = Builder(opset=21)
    weights = build.const(np.ones((6, 4)), np.int8)
    real = build.op(
        "DequantizeLinear", weights, build.const(np.ones((6, 2)), np.float32), axis=1, block_size=2, name="dq"
    )
    first = build.op("Gemm", build.input("x", 1, 3), build.weights(3, 4), name="first")
    second = build.op("Gemm", first, real, transB=1, name="second")
    dimensions = build.analyse(last(build, second))
    told(reasons(dimensions, "first_0", 1))
    assert freedom(dimensions, "second_0", 1) == "FREE"


def test_a_vector_is_quantized_along_its_only_axis() -> None:
    build = Builder()
    integers = build.const(np.ones(6), np.int32)
    scales = build.const(np.full(6, 0.1), np.float32)
    bias = build.op("DequantizeLinear", integers, scales, axis=3)
    first = build.op("Conv", build.input("x", 1, 3, 4, 4), build.weights(6, 3, 1, 1), bias, name="first")
    dimensions = build.analyse(head(build, first))
    assert freedom(dimensions, "first_0", 1) == "FREE"


def test_dynamic_quantization_sees_every_lane() -> None:
    build, data = stem()
    parts = build.op("DynamicQuantizeLinear", data, out=["q", "scale", "zero"], name="range")
    dimensions = prove(build, build.op("ConvInteger", parts[0], build.const(np.ones((2, 6, 1, 1)), np.uint8), parts[2]))
    assert freedom(dimensions, "stem_0", 1) == "LOCKED"


def test_an_unknown_operator_locks_with_its_name_and_domain(told: Told) -> None:
    build, data = stem()
    build.op("Frobnicate", data, domain="com.example", name="odd", out=["odd_0"])
    dimensions = build.analyse("odd_0")
    told(reasons(dimensions, "stem_0", 1))


def test_the_same_name_in_another_domain_is_another_operator(told: Told) -> None:
    build, data = stem()
    build.op("Conv", data, build.weights(2, 1, 1, 6), domain="qonnx.custom_op.channels_last", name="odd", out=["odd_0"])
    dimensions = build.analyse("odd_0")
    told(reasons(dimensions, "stem_0", 1)[0])
    assert not operator_named("qonnx.custom_op.channels_last", "Conv").known


def test_a_convolution_with_weights_computed_at_run_time_locks_what_it_sums_over() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="stem")
    weights = build.op("Sigmoid", build.conv(build.op("GlobalAveragePool", "x"), 2, 3, name="other"))
    dimensions = build.analyse(build.op("Conv", data, weights, name="mixed"))
    reason = "mixed: Conv with weights computed at run time sums over this axis"
    assert [str(lock) for lock in dimensions.locks("stem_0", 1)] == [reason]
