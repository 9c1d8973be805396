"""Lanes through single operators: what is said of small graphs, and that ONNX Runtime agrees."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from support.dims_graphs import Builder
from support.lanes_checks import Analysed, analysed, check_constants, check_removal, check_unread

NAN = np.nan


def checked(build: Builder, *outputs: str) -> Analysed:
    """The analysis, held against ONNX Runtime on random input."""
    analysis = analysed(build.model(*outputs))
    random = np.random.default_rng(0)
    feed = {}
    for value in build.inputs:
        tensor = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feed[value.name] = (random.normal(size=shape) * (3 if dtype == np.float32 else 40)).astype(dtype)
    check_constants(analysis, feed)
    check_unread(analysis, feed)
    removed = {lanes.leaf: lanes.exact for lanes in analysis.lanes.classes.values() if lanes.exact}
    check_removal(analysis, removed, feed)
    return analysis


def stem(bias: tuple[float, ...], dead: tuple[int, ...], build: Builder | None = None) -> tuple[Builder, str]:
    """A float 1x1 convolution whose `dead` rows are zero."""
    build = build or Builder()
    weights = build.random.uniform(0.5, 1, (len(bias), 2, 1, 1))
    weights[list(dead)] = 0
    data = build.input("x", 1, 2, 4, 4)
    return build, build.op("Conv", data, build.const(weights, np.float32), build.const(bias, np.float32), name="stem")


def head(build: Builder, data: str, columns: int, kernel: int = 1, **attributes) -> str:
    return build.conv(data, columns, 2, kernel, name="head", **attributes)


def lanes_of(analysis: Analysed, tensor: str, axis: int = 1):
    return analysis.lanes.classes[analysis.dimensions.class_of(tensor, axis).id]


def constants(analysis: Analysed, tensor: str, axis: int = 1) -> list[float]:
    return analysis.lanes.constants_of(tensor, axis).tolist()


def same(values: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-6)


def test_a_row_without_weights_is_its_bias() -> None:
    build, data = stem((1, -2, 3), (0, 1))
    analysis = checked(build, head(build, build.op("Relu", data, name="relu"), 3))
    same(constants(analysis, data), [1, -2, NAN])
    same(constants(analysis, "relu_0"), [1, 0, NAN])
    assert lanes_of(analysis, data)[1:] == ((2,), (1,), (0,), (0, 1), ())


def test_a_padded_reader_takes_only_zeros() -> None:
    build, data = stem((1, -2, 3), (0, 1))
    analysis = checked(build, head(build, build.op("Relu", data), 3, kernel=3))
    assert lanes_of(analysis, data)[1:4] == ((0, 2), (1,), ())


def test_a_depthwise_layer_passes_zeros_and_spoils_the_rest_at_its_borders() -> None:
    build, data = stem((1, -2, 3), (0, 1))
    data = build.conv(build.op("Relu", data), 1, 3, 3, name="middle", group=3)
    analysis = checked(build, head(build, data, 3))
    assert np.isnan(constants(analysis, "middle_0")).tolist() == [True, False, True]
    assert lanes_of(analysis, data)[1:4] == ((0, 2), (), (1,))


@pytest.mark.parametrize(("value", "live"), [(0.0, [True, True, True]), (1.0, [False, True, True])])
def test_pad_with_a_constant_keeps_only_what_equals_it(value: float, live: list[bool]) -> None:
    build, data = stem((1, -2, 3), (0, 1))
    around = build.ints(0, 0, 1, 1, 0, 0, 1, 1)
    data = build.op("Pad", data, around, build.const(value, np.float32), name="pad")
    analysis = checked(build, head(build, data, 3))
    assert np.isnan(constants(analysis, data)).tolist() == live


@pytest.mark.parametrize(("counted", "live"), [(0, [False, False, True]), (1, [True, False, True])])
def test_average_pooling_over_padding(counted: int, live: list[bool]) -> None:
    build, data = stem((1, 0, 3), (0, 1))
    given = {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": counted}
    data = build.op("AveragePool", data, name="pool", **given)
    analysis = checked(build, head(build, data, 3))
    assert np.isnan(constants(analysis, data)).tolist() == live


def test_max_pooling_ignores_padding() -> None:
    build, data = stem((-1, 2, 3), (0, 1))
    data = build.op("MaxPool", data, name="pool", kernel_shape=[3, 3], pads=[1] * 4)
    analysis = checked(build, head(build, data, 3))
    same(constants(analysis, data), [-1, 2, NAN])


def test_a_residual_sum_is_constant_only_where_both_sides_are() -> None:
    build, first = stem((1, 2, 3), (0, 1))
    weights = build.random.uniform(0.5, 1, (3, 2, 1, 1)) * np.array([0, 1, 1]).reshape(3, 1, 1, 1)
    second = build.op("Conv", "x", build.const(weights, np.float32), build.const([-1, 0, 0], np.float32))
    data = build.op("Add", first, second, name="sum")
    analysis = checked(build, head(build, data, 3))
    same(constants(analysis, data), [0, NAN, NAN])
    assert lanes_of(analysis, data)[1:4] == ((1, 2), (0,), ())


def test_a_float_product_with_zero_may_be_nan() -> None:
    build, first = stem((0, 2, 3), (0,))
    data = build.op("Mul", first, build.conv("x", 2, 3), name="product")
    analysis = checked(build, head(build, data, 3))
    assert np.isnan(constants(analysis, data)).all()


def test_concat_and_split_keep_their_index_maps() -> None:
    build, first = stem((0, 2, 3), (0,))
    second = build.conv("x", 2, 2)
    joined = build.op("Concat", first, second, first, axis=1, name="join")
    pieces = build.op("Split", joined, build.ints(2, 6), out=2, axis=1, name="split")
    analysis = checked(build, head(build, pieces[1], 6))
    assert np.flatnonzero(~np.isnan(constants(analysis, joined))).tolist() == [0, 5]
    assert np.flatnonzero(~np.isnan(constants(analysis, pieces[1]))).tolist() == [3]


@pytest.mark.parametrize("last", [False, True])
def test_flatten_in_either_order_of_axes(last: bool) -> None:
    build, data = stem((0, 2, 3), (0,))
    if last:
        data = build.op("Transpose", data, perm=[0, 2, 3, 1])
    flat = build.op("Flatten", data, name="flat")
    analysis = checked(build, build.op("MatMul", flat, build.weights(48, 2)))
    dead = np.flatnonzero(~np.isnan(constants(analysis, flat))).tolist()
    assert dead == (list(range(0, 48, 3)) if last else list(range(16)))
    assert lanes_of(analysis, "stem_0")[1:4] == ((1, 2), (0,), ())


def test_an_unread_lane_may_go_whatever_it_holds() -> None:
    build, data = stem((1, 2, 3), ())
    weights = build.random.uniform(0.5, 1, (2, 3, 3, 3))
    weights[:, 1] = 0
    analysis = checked(build, build.op("Conv", data, build.const(weights, np.float32), pads=[1] * 4))
    assert lanes_of(analysis, data)[1:] == ((0, 2), (1,), (), (), (1,))


def test_unread_rows_read_nothing() -> None:
    build, data = stem((1, 2, 3), ())
    middle, last = np.ones((2, 3, 1, 1)), np.ones((2, 2, 1, 1))
    middle[0, 1] = 0
    last[:, 1] = 0
    data = build.op("Conv", data, build.const(middle, np.float32), name="middle")
    analysis = checked(build, build.op("Conv", data, build.const(last, np.float32)))
    assert lanes_of(analysis, "middle_0").unread == (1,)
    assert lanes_of(analysis, "stem_0").unread == (1,)


def test_two_readers_have_to_agree() -> None:
    build, data = stem((1, 2, 3), ())
    weights = np.ones((2, 2, 3, 1, 1))
    weights[0, :, 1] = weights[1, :, 2] = 0
    outputs = [build.op("Conv", data, build.const(weight, np.float32)) for weight in weights]
    assert lanes_of(checked(build, *outputs), data)[1:4] == ((0, 1, 2), (), ())


def test_one_lane_stays() -> None:
    build, data = stem((0, 0, 0), (0, 1, 2))
    analysis = checked(build, head(build, data, 3))
    assert lanes_of(analysis, data)[1:4] == ((0,), (1, 2), ())


def test_a_class_at_an_output_stays_and_is_told_of() -> None:
    build, data = stem((1, 2, 3), (1,))
    analysis = checked(build, data)
    assert lanes_of(analysis, data)[1:] == ((0, 1, 2), (), (), (1,), ())


def test_an_initializer_that_a_caller_may_replace_is_not_known() -> None:
    build, data = stem((1, 2, 3), (0, 1))
    build.inputs.append(helper.make_tensor_value_info("c0", TensorProto.FLOAT, [3, 2, 1, 1]))
    analysis = analysed(build.model(head(build, data, 3)))
    assert np.isnan(constants(analysis, data)).all()


def test_weights_that_are_not_finite_are_live() -> None:
    build = Builder()
    weights = np.zeros((2, 2, 1, 1))
    weights[0, 1] = np.inf
    data = build.op("Conv", build.input("x", 1, 2, 4, 4), build.const(weights, np.float32), name="stem")
    analysis = analysed(build.model(head(build, data, 2)))
    same(constants(analysis, data), [NAN, 0])
    assert lanes_of(analysis, "x").unread == (0,)


def test_a_value_that_was_seen_to_differ_is_live() -> None:
    build, data = stem((1, -2, 3), (0, 1))
    relu = build.op("Relu", data, name="relu")
    model = build.model(head(build, relu, 3))
    analysis = analysed(model, disproved=[("relu_0", 1, 1)])
    same(constants(analysis, "relu_0"), [1, NAN, NAN])
    assert lanes_of(analysis, data)[1:4] == ((1, 2), (), (0,))


def test_a_lane_inside_a_loop_body_is_followed_only_there() -> None:
    build, data = stem((0, 2, 3), (0,))
    body = helper.make_graph(
        [helper.make_node("Relu", [data], ["inner"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("inner", TensorProto.FLOAT, [1, 3, 4, 4]),
        ],
    )
    build.op("Loop", build.const(2, np.int64), "", body=body, name="loop", out=["scanned"])
    analysis = checked(build, head(build, data, 3), "scanned")
    assert lanes_of(analysis, data)[1:4] == ((0, 1, 2), (), ())


def integers(build: Builder, zero: int, kernel: int, pads: int, weights_zero: int = 120) -> Analysed:
    """Two uint8 QLinearConv; row 0 of the first has no weights and a bias of 0, row 1 one that is not."""
    first = build.random.integers(0, 255, (3, 2, 1, 1))
    first[:2] = weights_zero
    data, output = build.input("x", 1, 2, 4, 4, elem_type=TensorProto.UINT8), "x"
    for name, weights, bias in (
        ("stem", first, [0, 4000, 70]),
        ("head", build.random.integers(0, 255, (2, 3, kernel, kernel)), [5, 6]),
    ):
        output = build.op(
            "QLinearConv",
            output if output != "x" else data,
            build.const(0.1, np.float32),
            build.const(zero, np.uint8),
            build.const(weights, np.uint8),
            build.const(0.01, np.float32),
            build.const(weights_zero, np.uint8),
            build.const(0.1, np.float32),
            build.const(zero, np.uint8),
            build.const(bias, np.int32),
            pads=[pads if name == "head" else 0] * 4,
            name=name,
        )
    return checked(build, output)


@pytest.mark.parametrize("zero", [0, 7, 128])
def test_quantized_sums_fold_exactly(zero: int) -> None:
    analysis = integers(Builder(), zero, 3, 0)
    same(constants(analysis, "stem_0"), [zero, zero + 40, NAN])
    lanes = lanes_of(analysis, "stem_0")
    assert lanes[1:4] == ((2,), (0, 1), ())
    weights = analysis.read(analysis.graph.nodes[1].inputs[3]).astype(np.int64) - 120
    added = analysis.lanes.increments({lanes.leaf: [0, 1]})
    assert list(added) == [1]
    assert added[1].dtype == np.int64
    assert added[1].tolist() == (40 * weights[:, 1].sum(axis=(1, 2))).tolist()
    assert analysis.lanes.increments({lanes.leaf: [0]}) == {}


def test_quantized_padding_is_the_zero_point() -> None:
    assert lanes_of(integers(Builder(), 7, 3, 1), "stem_0")[1:4] == ((1, 2), (0,), ())


def test_a_lane_that_is_needed_may_not_go() -> None:
    analysis = integers(Builder(), 7, 3, 1)
    with pytest.raises(ValueError, match="head needs a lane that is to go"):
        analysis.lanes.increments({lanes_of(analysis, "stem_0").leaf: [1]})


def test_zero_points_per_channel_of_the_weights() -> None:
    build = Builder()
    weights, zeros = build.random.integers(-90, 90, (3, 2, 1, 1)), np.array([3, 0, -5])
    weights[0], weights[1] = 3, 3
    real = build.op("DequantizeLinear", build.const(weights, np.int8), build.const([0.1] * 3, np.float32), axis=0)
    build.nodes[-1].input.append(build.const(zeros, np.int8))
    data = build.op("Conv", build.input("x", 1, 2, 4, 4), real, name="stem")
    analysis = checked(build, head(build, data, 3))
    same(constants(analysis, data), [0, NAN, NAN])


@pytest.mark.parametrize(("steps", "wanted"), [(0.5, 0), (1.5, 2), (2.5, 2), (200.0, 127), (-200.0, -128)])
def test_quantizing_rounds_half_to_even_and_saturates(steps: float, wanted: int) -> None:
    build = Builder()
    data = build.op("Identity", build.const(np.full((1, 2, 1, 1), steps * 0.25), np.float32))
    output = build.op("QuantizeLinear", data, build.const(0.25, np.float32), build.const(0, np.int8), name="quantize")
    real = build.op("DequantizeLinear", output, build.const(0.25, np.float32), build.const(0, np.int8))
    analysis = checked(build, build.op("Add", build.input("x", 1, 2, 4, 4), real))
    assert constants(analysis, "quantize_0") == [wanted, wanted]


def test_a_sum_too_near_a_tie_is_live() -> None:
    build, data = stem((0.0625, 0.07, 0), (0, 1, 2))
    data = build.op("Mul", data, build.const(2, np.float32))
    output = build.op("QuantizeLinear", data, build.const(0.25, np.float32), build.const(0, np.int8), name="quantize")
    real = build.op("DequantizeLinear", output, build.const(0.25, np.float32), build.const(0, np.int8))
    same(constants(checked(build, head(build, real, 3)), output), [NAN, 1, 0])


def test_integer_zero_times_anything_is_zero() -> None:
    build = Builder()
    given = [build.const(0.1, np.float32), build.const(5, np.uint8)]
    data, gate = (build.input(name, 1, 2, 4, 4, elem_type=TensorProto.UINT8) for name in "xy")
    zero = build.const(np.array([5, 9]).reshape(1, 2, 1, 1), np.uint8)
    some = build.op("QLinearMul", data, *given, zero, *given, *given, domain="com.microsoft", name="some")
    output = build.op("QLinearMul", some, *given, gate, *given, *given, domain="com.microsoft", name="made")
    analysis = checked(build, build.op("DequantizeLinear", output, *given))
    same(constants(analysis, "made_0"), [5, NAN])


def test_a_product_of_sums_has_no_bias_to_take_a_constant() -> None:
    build = Builder()
    weights = np.zeros((2, 3))
    weights[:, 1] = 4
    data = build.input("x", 1, 2, elem_type=TensorProto.INT8)
    given = [build.const(0.1, np.float32), build.const(0, np.int8)]
    output = build.op("QLinearMatMul", data, *given, build.const(weights, np.int8), *given, *given, name="stem")
    output = build.op("QLinearMatMul", output, *given, build.const(np.ones((3, 2)), np.int8), *given, *given)
    assert lanes_of(checked(build, output), "stem_0")[1:4] == ((1,), (0, 2), ())


def test_four_bit_weights() -> None:
    build = Builder(opset=21)
    weights = np.array([[1, -8, 0], [7, 0, 0]]).T.reshape(3, 2, 1, 1)
    tensor = helper.make_tensor("w", TensorProto.INT4, (3, 2, 1, 1), weights.flatten().tolist())
    build.initializers.append(tensor)
    real = build.op("DequantizeLinear", "w", build.const(0.1, np.float32))
    data = build.op("Conv", build.input("x", 1, 2, 4, 4), real, name="stem")
    same(constants(checked(build, head(build, data, 3)), data), [NAN, NAN, 0])


def test_shared_constants_serve_layers_of_their_own() -> None:
    build = Builder()
    weights = build.const(np.array([[1.0, 0], [0, 0]]).reshape(2, 2, 1, 1), np.float32)
    first = build.op("Conv", build.input("x", 1, 2, 4, 4), weights, name="first")
    second = build.op("Conv", first, weights, name="second")
    analysis = checked(build, head(build, second, 2))
    same(constants(analysis, "first_0"), [NAN, 0])
    assert lanes_of(analysis, "first_0").live == (0, 1), "its shared weights tie it to the input"


def test_an_unknown_operator_reads_everything() -> None:
    build, data = stem((0, 2, 3), (0,))
    sorted_values = build.op("TopK", data, build.ints(1), axis=3, out=2)
    analysis = checked(build, head(build, data, 3), sorted_values[0])
    assert 0 not in lanes_of(analysis, data).unread


def test_an_axis_scaled_without_changing_its_size_is_computed_anew() -> None:
    build, data = stem((0, 2, 3), (0,))
    edge = build.op("Pad", data, build.ints(0, 0, 0, 1, 0, 0, 0, 0), build.const(1, np.float32))
    scales = build.const([1, 1, 1, 1.1], np.float32)
    data = build.op("Resize", edge, "", scales, name="resize", mode="nearest")
    analysis = checked(build, head(build, data, 3))
    assert np.isnan(constants(analysis, data)).all()


def test_constants_multiplied_with_each_other_need_every_lane() -> None:
    build = Builder()
    inner = build.const(np.array([[1.0, 0, 2], [3, 0, 4]]), np.float32)
    outer = build.op("MatMul", inner, build.const(np.ones((3, 2)), np.float32))
    data = build.op("MatMul", build.input("x", 2, 2), inner, name="stem")
    analysis = checked(build, build.op("MatMul", data, build.const(np.ones((3, 2)), np.float32)), outer)
    assert lanes_of(analysis, data)[1:4] == ((0, 1, 2), (), ())


def test_nodes_out_of_order_say_nothing() -> None:
    build, data = stem((0, 2, 3), (0,))
    model = build.model(head(build, build.op("Relu", data), 3))
    first = model.graph.node[0]
    model.graph.node.append(first)
    del model.graph.node[0]
    analysis = analysed(model)
    assert all(not (lanes.exact or lanes.unsafe) for lanes in analysis.lanes.classes.values())


def test_clipping_without_limits_and_casting() -> None:
    build, data = stem((1.5, -2.5, 3), (0, 1))
    clipped = build.op("Clip", data, name="clip")
    whole = build.op("Cast", clipped, name="whole", to=TensorProto.INT32)
    real = build.op("Cast", whole, name="real", to=TensorProto.FLOAT)
    analysis = checked(build, head(build, real, 3))
    same(constants(analysis, clipped), [1.5, -2.5, NAN])
    same(constants(analysis, real), [1, -2, NAN])


def test_a_bias_that_would_overflow_takes_nothing() -> None:
    build = Builder()
    weights = np.zeros((2, 2, 1, 1))
    weights[1] = 1
    output = build.input("x", 1, 2, 4, 4, elem_type=TensorProto.INT8)
    given = [build.const(0.1, np.float32), build.const(0, np.int8)]
    for name, bias in (("stem", [1000, 0]), ("head", [2**31 - 1, 0])):
        inputs = [output, *given, build.const(weights if name == "stem" else weights + 1, np.int8), *given, *given]
        output = build.op("QLinearConv", *inputs, build.const(bias, np.int32), name=name)
    analysis = analysed(build.model(output))
    assert constants(analysis, "stem_0")[0] == 100
    assert lanes_of(analysis, "stem_0")[1:4] == ((0, 1), (), ())


def test_shapes_that_contradict_each_other_say_nothing() -> None:
    build, data = stem((0, 2, 3), (0,))
    model = build.model(head(build, data, 3))
    model.graph.initializer[1].dims[0] = 2
    model.graph.initializer[1].raw_data = bytes(8)
    assert np.isnan(constants(analysed(model), data)).all()
