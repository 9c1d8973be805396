"""What is wrong with a model that can still be read: one clear problem each."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnxlint_cmsis.model.model_error import ModelError
from support.read_models import conv_model, model, only, read, tensor, texts, value

X = value("x", ["N", 4, 8, 8])
INT8 = TensorProto.INT8


def relu(source, target, name=""):
    return helper.make_node("Relu", [source], [target], name=name)


def problem_of(nodes, inputs=(X,), initializers=(), output="y", **more):
    return only(read(model(nodes, list(inputs), [value(output, None)], initializers, **more)))


def refused(nodes, initializers=(), output="y"):
    with pytest.raises(ModelError) as caught:
        problem_of(nodes, initializers=initializers, output=output)
    assert caught.value.kind == "not-a-model"
    return str(caught.value)


def test_a_model_in_order_has_no_problems():
    assert read(conv_model()).problems == ()


def test_two_nodes_make_one_value(told):
    told(refused([relu("x", "y", "a"), relu("x", "y", "b")]))


def test_a_value_of_a_subgraph_has_a_key_of_its_own():
    """Else the constant of the one would be read for the other."""
    inner = [tensor("c", np.zeros(1, np.float32))]
    branches = [
        helper.make_graph([helper.make_node("Neg", ["c"], ["o"])], f"g{n}", [], [value("o", [1])], inner)
        for n in (0, 1)
    ]
    choice = helper.make_node("If", ["p"], ["z"], "i", then_branch=branches[0], else_branch=branches[1])
    outer = [tensor("i.then_branch/c", np.ones(1, np.float32)), tensor("p", np.array(True))]
    graph = read(model([choice, relu("i.then_branch/c", "y")], [X], [value("y", [1])], outer))
    assert graph.constants["i.then_branch/c"].values() == (1.0,)
    assert [graph.constants[node.inputs[0]].values() for node in graph.nodes if node.op_type == "Neg"] == [(0.0,)] * 2


def test_nodes_of_one_name_are_told_once(told):
    nodes = [relu("x", "a", "c"), relu("a", "b", "d"), relu("b", "e", "c"), relu("e", "y", "d")]
    told(problem_of(nodes))


def test_nodes_without_names_share_none():
    assert read(model([relu("x", "a"), relu("a", "y")], [X], [value("y", ["N", 4, 8, 8])])).problems == ()


def test_a_node_makes_an_input(told):
    told(refused([relu("x", "v", "a"), relu("v", "x", "b")]))


def test_a_missing_value(told):
    problem = problem_of([relu("w", "t", "a"), helper.make_node("Add", ["w", "t"], ["y"])])
    told(problem)


def test_a_missing_value_inside_a_subgraph(told):
    branch = helper.make_graph([relu("w", "y", "inner")], "b", [], [value("y", [1])])
    holder = helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch, else_branch=branch)
    problems = texts(read(model([holder], [value("c", [], 9)], [value("y", None)])))
    told(problems[0])


def test_a_missing_output(told):
    problem = problem_of([relu("x", "y")], output="z")
    told(problem)


def test_a_missing_value_that_has_a_stated_shape():
    proto = model([relu("w", "y", "a")], [X], [value("y", None)], value_info=[value("w", [1, 2])])
    assert "reads `w`" in only(read(proto))


def test_a_cycle():
    why = refused([helper.make_node("Add", ["x", "b"], ["a"], name="n1"), relu("a", "b", "n2"), relu("b", "y", "n3")])
    assert "n1 -> n2 -> n1;" in why or "n2 -> n1 -> n2;" in why


def test_a_node_that_reads_itself(told):
    told(refused([helper.make_node("Add", ["x", "y"], ["y"], name="n")]))


def test_a_node_that_computes_the_initializer_it_reads_is_refused(told):
    told(refused([relu("w", "w", "n"), relu("w", "y")], [tensor("w", np.ones(4, np.float32))]))


def test_a_cycle_of_many_nodes_is_found_without_recursion(told):
    nodes = [relu(f"t{i}", f"t{i + 1}", f"n{i}") for i in range(5000)] + [relu("t5000", "t0", "back")]
    why = refused(nodes, output="t7")
    told(why)
    assert len(why) < 300


def test_nodes_out_of_order(told):
    problem = problem_of([relu("a", "y", "late"), relu("x", "a", "early")])
    told(problem)


def test_unknown_operator(told):
    node = helper.make_node("Unheard", ["x"], ["y"], name="n")
    problem = only(read(model([node], [X], [value("y", [1])])))
    told(problem)


def test_operator_set_too_new(told):
    problem = problem_of([relu("x", "y")], opset=9999)
    told(problem)


def test_operator_set_of_another_domain_is_anyones():
    assert texts(read(model([relu("x", "y")], [X], [value("y", ["N", 4, 8, 8])], opsets=[("odd", 9999)]))) == []


def test_ir_version_too_new():
    assert "ir_version" in problem_of([relu("x", "y")], ir=9999)


def test_the_checker_sees_the_names_of_the_file(told):
    node = helper.make_node("Conv", ["x"], ["y"], name="the name")
    problem = only(read(model([node], [X], [value("y", [1])])))
    told(problem)
    told(problem)


@pytest.mark.parametrize("size", [-1, 2**62, -(2**63)])
def test_impossible_sizes(size, told):
    graph = read(model([relu("x", "y")], [value("x", [1, size, 3])], [value("y", [1, size, 3])]))
    told(only(graph, "invalid" if size < 0 else "oversized"))
    assert graph.shape("y") == (1, None, 3)


def test_a_size_that_a_node_makes_larger_than_any_tensor_is_told(told):
    """It was unknown, and nothing was said."""
    pads = tensor("p", np.array([0, 0, 0, 0, 2**40, 0], np.int64))
    pad = helper.make_node("Pad", ["x", "p"], ["t"])
    graph = read(model([pad, relu("t", "y")], [value("x", [1, 4, 3])], [value("y", None)], [pads]))
    told(only(graph, "oversized"))
    assert graph.shape("t") == (1, None, 3)


@pytest.mark.parametrize("dims", [[2**62], [2**62, 2**62], [-4], [-(2**63)]])
@pytest.mark.parametrize("kind", ["initializer", "constant"])
def test_impossible_dims(dims, kind, told):
    weight = TensorProto(name="w", data_type=1, dims=dims, raw_data=bytes(4))
    add = helper.make_node("Add", ["x", "w"], ["y"])
    if kind == "constant":
        graph = read(
            model([helper.make_node("Constant", [], ["w"], value=weight, name="k"), add], [X], [value("y", None)])
        )
    else:
        graph = read(model([add], [X], [value("y", None)], [weight]))
    told(only(graph))
    assert "w" not in graph.constants
    assert graph.shape("w") in (None, (None,) * len(dims))


def broken(**changes):
    fields = {"name": "w", "data_type": 1, "dims": [8, 4, 3, 3]} | changes
    return conv_model(initializer=TensorProto(**fields))


@pytest.mark.parametrize(
    ("proto", "says"),
    [
        (broken(raw_data=bytes(4600)), "4600 bytes of raw_data; float32 [8, 4, 3, 3] takes 1152"),
        (broken(raw_data=bytes(4)), "4 bytes of raw_data; float32 [8, 4, 3, 3] takes 1152"),
        (broken(), "0 values of float_data; float32 [8, 4, 3, 3] takes 288"),
        (broken(float_data=[1.0] * 287), "1148 bytes of float_data; float32 [8, 4, 3, 3] takes 1152"),
        (broken(float_data=[1.0] * 5), "5 values of float_data; float32 [8, 4, 3, 3] takes 288"),
        (broken(int32_data=[1] * 288), "values in int32_data; float32 belongs in float_data or raw_data"),
        (
            broken(float_data=[1.0] * 288, raw_data=bytes(1152)),
            "values in float_data and raw_data; allowed is one of them",
        ),
        (broken(data_type=3, int32_data=[1] * 200), "200 values of int32_data; int8 [8, 4, 3, 3] takes 288"),
        (broken(data_type=3, int32_data=[1] * 9000), "9000 bytes of int32_data; int8 [8, 4, 3, 3] takes 288 to 2880"),
        (broken(data_type=22, raw_data=bytes(143)), "143 bytes of raw_data; int4 [8, 4, 3, 3] takes 144"),
        (broken(data_type=11, double_data=[1.0] * 289), "2312 bytes of double_data; float64 [8, 4, 3, 3] takes 2304"),
        (broken(data_type=8, raw_data=bytes(3)), "3 bytes of raw_data; string [8, 4, 3, 3] takes"),
        (broken(data_type=99, raw_data=bytes(1152)), "has element type 99; known are 1 to"),
        (broken(data_type=0, raw_data=bytes(1152)), "has element type 0; known are 1 to"),
    ],
)
def test_payloads_that_do_not_fit_their_dims(proto, says):
    problem = only(read(proto))
    assert problem.startswith("tensor `w` has ")
    assert says in problem


def conv(w_shape, x_shape=(1, 4, 8, 8), op="Conv", bias=None, **attributes):
    names = ["x", "w"] + ([] if bias is None else ["b"])
    numbers = [tensor("w", np.zeros(w_shape, np.float32))]
    numbers += [] if bias is None else [tensor("b", np.zeros(bias, np.float32))]
    node = helper.make_node(op, names, ["y"], name="n", **attributes)
    return model([node], [value("x", x_shape)], [value("y", None)], numbers)


@pytest.mark.parametrize(
    ("proto", "says"),
    [
        (conv((8, 3, 3, 3)), "weight has shape [8, 3, 3, 3] for 4 input channels in 1 groups; allowed is 4 in axis 1"),
        (conv((8, 4, 3, 3), group=2), "for 4 input channels in 2 groups; allowed is 2 in axis 1"),
        (conv((8, 4, 3)), "weight has shape [8, 4, 3], input [1, 4, 8, 8]; allowed are equal ranks from 3"),
        (conv((8, 4), (1, 4)), "allowed are equal ranks from 3"),
        (conv((8, 2, 3, 3), group=3), "4 input channels in 3 groups; allowed is a multiple"),
        (conv((9, 2, 3, 3), group=2), "9 output channels in 2 groups; allowed is a multiple"),
        (conv((8, 4, 3, 3), group=0), "group is 0; allowed is 1 and more"),
        (
            conv((8, 4, 3, 3), kernel_shape=[5, 5]),
            "kernel_shape is [5, 5], weight has shape [8, 4, 3, 3]; they must",
        ),
        (conv((8, 4, 3, 3), bias=(7,)), "bias has shape [7]; allowed is [8]"),
        (conv((8, 4, 3, 3), bias=(1, 8)), "bias has shape [1, 8]; allowed is [8]"),
        (conv((8, 4, 3, 3), op="ConvTranspose"), "for 4 input channels; allowed is 4 in axis 0"),
        (conv((4, 3, 3, 3), op="ConvTranspose", group=2, bias=(3,)), "bias has shape [3]; allowed is [6]"),
    ],
)
def test_convolution_weights(proto, says):
    problem = only(read(proto))
    assert problem.startswith("n: ")
    assert says in problem


@pytest.mark.parametrize(
    "proto",
    [
        conv((8, 4, 3, 3)),
        conv((8, 1, 3, 3), group=4),
        conv((4, 3, 3, 3), op="ConvTranspose", group=2, bias=(6,)),
        conv((8, 4, 3), (1, 4, 9), bias=(8,), kernel_shape=[3]),
        conv((8, 4, 3, 3), (1, "C", "H", "W")),
    ],
)
def test_convolution_weights_that_fit(proto):
    assert texts(read(proto)) == []


@pytest.mark.parametrize(
    ("op", "a", "b", "attributes", "says"),
    [
        ("MatMul", (2, 3), (4, 5), {}, "multiplies [2, 3] by [4, 5]; the inner sizes must be equal"),
        ("MatMul", (2, 3), (4,), {}, "multiplies [2, 3] by [4]"),
        ("Gemm", (2, 3), (4, 5), {}, "multiplies [2, 3] by [4, 5]"),
        ("Gemm", (2, 3), (3, 5), {"transB": 1}, "multiplies [2, 3] by [5, 3]"),
        ("Gemm", (2, 3, 4), (4, 5), {}, "factors have shapes [2, 3, 4] and [4, 5]; allowed is rank 2"),
        ("MatMul", (), (4, 5), {}, "allowed is rank 1 and more"),
    ],
)
def test_products(op, a, b, attributes, says):
    node = helper.make_node(op, ["x", "w"], ["y"], name="n", **attributes)
    assert says in problem_of([node], [value("x", a)], [tensor("w", np.zeros(b, np.float32))])


@pytest.mark.parametrize(
    ("op", "a", "b", "attributes"),
    [
        ("MatMul", (7, 2, 3), (3, 4), {}),
        ("MatMul", (3,), (3,), {}),
        ("Gemm", (3, 2), (5, 3), {"transA": 1, "transB": 1}),
    ],
)
def test_products_that_fit(op, a, b, attributes):
    node = helper.make_node(op, ["x", "w"], ["y"], **attributes)
    assert texts(read(model([node], [value("x", a)], [value("y", None)], [tensor("w", np.zeros(b, np.float32))]))) == []


def test_batch_normalization(told):
    numbers = [tensor(name, np.zeros(5 if name == "mean" else 4, np.float32)) for name in ("s", "b", "mean", "var")]
    node = helper.make_node("BatchNormalization", ["x", "s", "b", "mean", "var"], ["y"], name="n")
    told(problem_of([node], initializers=numbers))


def quantize(scale, zero, **attributes):
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], name="n", **attributes)
    return [node], [X], [tensor("s", np.array(scale, np.float32)), tensor("z", np.array(zero, np.int8))]


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_that_cannot_be(scale, told):
    problem = problem_of(*quantize([1.0, scale, 1.0, 1.0], [0] * 4, axis=1))
    told(problem)


def test_a_shared_scale_is_reported_once(told):
    numbers = [tensor("s", np.float32(-1)), tensor("z", np.int8(0))]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="a"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], name="b"),
    ]
    told(problem_of(nodes, initializers=numbers))


@pytest.mark.parametrize(
    ("scale", "zero", "axis", "says"),
    [
        ([1.0] * 4, [0] * 3, 1, "zero-point `z` has shape [3], scale [4]; they must agree"),
        ([1.0] * 4, 0, 1, "zero-point `z` has shape [], scale [4]; they must agree"),
        (
            [1.0] * 4,
            [0] * 4,
            2,
            "4 scales for axis 2 of [1, 4, 8, 8]; allowed is one for each element",
        ),
        ([1.0] * 4, [0] * 4, 4, "axis is 4, input has shape [1, 4, 8, 8]; allowed are axes the input has"),
    ],
)
def test_scales_and_zero_points_that_do_not_fit(scale, zero, axis, says):
    assert says in problem_of(*quantize(scale, zero, axis=axis))


@pytest.mark.parametrize(("scale", "zero", "axis"), [(1.0, [0], 9), ([1.0], 0, 1), ([1.0] * 4, [0] * 4, -3)])
def test_scales_and_zero_points_that_fit(scale, zero, axis):
    nodes, inputs, numbers = quantize(scale, zero, axis=axis)
    assert texts(read(model(nodes, inputs, [value("y", None)], numbers))) == []


def qlinear_conv(scale=1.0, zero=0, zero_type=np.int8):
    numbers = [
        tensor("w", np.zeros((8, 4, 3, 3), np.int8)),
        tensor("s", np.float32(1)),
        tensor("z", np.int8(0)),
        tensor("ws", np.full(8, scale, np.float32)),
        tensor("wz", np.array(zero, zero_type)),
    ]
    node = helper.make_node("QLinearConv", ["x", "s", "z", "w", "ws", "wz", "s", "z"], ["y"], name="n")
    return [node], [value("x", [1, 4, 8, 8], INT8)], numbers


def test_fused_operators_are_held_to_the_rules_of_what_they_stand_for(told):
    weights = tensor("w", np.ones((5, 6), np.float32))
    gemm = helper.make_node("FusedGemm", ["m", "w"], ["y"], domain="com.microsoft", name="n")
    told(problem_of([gemm], [value("m", [2, 4])], [weights], opsets=[("com.microsoft", 1)]))
    matmul = helper.make_node("FusedMatMul", ["m", "w"], ["y"], domain="com.microsoft", name="n", transB=1)
    told(problem_of([matmul], [value("m", [2, 4])], [weights], opsets=[("com.microsoft", 1)]))


def test_zero_points_of_integer_layers_have_their_values_type(told):
    numbers = [tensor("w", np.ones((8, 4, 3, 3), np.int8)), tensor("z", np.array(0, np.int8))]
    node = helper.make_node("ConvInteger", ["x", "w", "z"], ["y"], name="n")
    told(problem_of([node], [value("x", [1, 4, 8, 8], TensorProto.UINT8)], numbers))


def test_one_zero_point_for_many_scales():
    nodes, inputs, numbers = qlinear_conv()
    assert texts(read(model(nodes, inputs, [value("y", None)], numbers))) == []


def test_scales_of_quantized_operators(told):
    told(problem_of(*qlinear_conv(0.0)))
    told(problem_of(*qlinear_conv(1.0, [0, 0, 0])))


def test_zero_points_of_another_type(told):
    problem = problem_of(*qlinear_conv(1.0, 0, np.uint8))
    told(problem)
