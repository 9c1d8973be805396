"""Applying a plan: which element goes where, what new ones hold, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper, parser

from onnxlint_cmsis.fixers.planning.layouts import SAME, growing, layouts
from onnxlint_cmsis.fixers.planning.plan import Plan
from onnxlint_cmsis.fixers.planning.unchangeable import refused
from onnxlint_cmsis.fixers.planning.uses import Uses
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.types import Freedom
from support.dims_graphs import Builder
from support.fix_graphs import arrays, case, input_of, unchanged
from support.fix_random import models
from support.linter import with_plan
from support.proofs import prove
from support.resizable_models import GROW, branch_model, integer_model, qdq_model, two_convs


def test_new_weights_and_biases_are_zero_and_the_rest_stays() -> None:
    build, output = two_convs()
    before = case(build.model(output))
    before.model.doc_string, before.model.graph.doc_string = "model", "graph"
    before.model.metadata_props.add(key="k", value="v")
    after = before.applied({"first_0": (0, None, 1, 2)})
    old, new = input_of(before.model, "first", 1), input_of(after, "first", 1)
    assert np.array_equal(new[[0, 2, 3]], old)
    assert not new[1].any()
    assert input_of(after, "first", 2)[1] == 0
    old, new = input_of(before.model, "last", 1), input_of(after, "last", 1)
    assert np.array_equal(new[:, [0, 2, 3]], old)
    assert not new[:, 1].any()
    unchanged(before.model, after, "c0", "c1", "c2", "first_0")
    shape = next(value for value in after.graph.value_info if value.name == "first_0").type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [1, 4, 4, 4]
    assert before.proof(after).equal


def test_nothing_to_do_is_byte_identical() -> None:
    build, output = two_convs()
    before = case(build.model(output))
    data = before.model.SerializeToString()
    assert with_plan(before.model, before.graph, before.dimensions, Plan({})).SerializeToString() == data
    assert before.applied({"first_0": (0, 1, 2)}).SerializeToString() == data


def test_removed_lanes_take_their_elements_along() -> None:
    build, output = two_convs()
    before = case(build.model(output))
    after = before.applied({"first_0": (0, 2)})
    assert np.array_equal(input_of(after, "first", 1), input_of(before.model, "first", 1)[[0, 2]])
    assert np.array_equal(input_of(after, "first", 2), input_of(before.model, "first", 2)[[0, 2]])
    assert np.array_equal(input_of(after, "last", 1), input_of(before.model, "last", 1)[:, [0, 2]])


def test_the_last_lanes_can_be_removed() -> None:
    build, output = two_convs()
    before = case(build.model(output))
    after = before.applied({"first_0": (0, 1)})
    assert np.array_equal(input_of(after, "first", 1), input_of(before.model, "first", 1)[:2])
    assert np.array_equal(input_of(after, "last", 1), input_of(before.model, "last", 1)[:, :2])


def test_increments_reach_the_readers_bias() -> None:
    build, output = two_convs()
    before = case(build.model(output))
    after = before.applied({"first_0": (0, 2)}, {"last": np.array([0.5, -1.0])})
    assert np.allclose(input_of(after, "last", 2) - input_of(before.model, "last", 2), [0.5, -1.0])
    with pytest.raises(NotAppliedError, match="3 increments for a bias of 2"):
        before.applied({"first_0": (0, 2)}, {"last": np.ones(3)})
    with pytest.raises(NotAppliedError, match="would not fit float32"):
        before.applied({"first_0": (0, 2)}, {"last": np.array([np.inf, 0])})


def test_quantized_weights_grow_by_their_zero_point_scales_by_the_first() -> None:
    before = case(integer_model())
    after = before.applied({"first_0": (None, 0, 1, 2)})
    assert (input_of(after, "first", 3)[0] == 120).all()
    assert (input_of(after, "last", 3)[:, 0] == 120).all()
    assert input_of(after, "first", 4)[0] == input_of(before.model, "first", 4)[0]
    assert input_of(after, "first", 5).tolist() == [120] * 4
    assert input_of(after, "first", 8)[0] == 0
    assert before.proof(after).equal


def test_integer_increments_are_exact_or_refused() -> None:
    before = case(integer_model())
    after = before.applied({"first_0": (0, 2)}, {"last": np.array([800, -3])})
    assert input_of(after, "last", 8).tolist() == [2**31 - 100, 4]
    with pytest.raises(NotAppliedError, match="would not fit int32"):
        before.applied({"first_0": (0, 2)}, {"last": np.array([900, 0])})


def test_a_bias_is_added_where_there_is_none() -> None:
    before = case(integer_model(bias=False))
    after = before.applied({"first_0": (0, 2)}, {"last": np.array([55, -3])})
    assert input_of(after, "last", 8).tolist() == [55, -3]
    assert input_of(after, "last", 8).dtype == np.int32


def test_a_dequantized_bias_gains_in_its_own_unit() -> None:
    before = case(qdq_model(bias=True))
    after = before.applied({"first_0": (0, 2)}, {"last": np.array([55, -3])})
    assert arrays(after)["last_b"].tolist() == [955, 897]
    assert arrays(after)["first_b"].tolist() == [900, 900]


def test_a_missing_bias_before_operator_set_13_is_dequantized_without_an_axis() -> None:
    build = Builder(opset=11)
    step, zero = build.const(0.1, np.float32), build.const(-3, np.int8)
    data = build.op("QuantizeLinear", build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first"), step, zero)
    data = build.op("DequantizeLinear", data, step, zero)
    held = build.const(build.random.integers(-90, 90, (2, 3, 1, 1)), np.int8)
    weights = build.op("DequantizeLinear", held, build.const(0.02, np.float32), build.const(0, np.int8))
    before = case(build.model(build.op("Conv", data, weights, name="last")))
    after = before.applied({"first_0": (0, 1)}, {"last": np.array([55, -3])})
    onnx.checker.check_model(after)
    dequantized = next(node for node in after.graph.node if node.output[0] == after.graph.node[-1].input[2])
    assert (dequantized.op_type, list(dequantized.attribute)) == ("DequantizeLinear", [])


def test_a_missing_bias_of_a_qdq_layer_is_dequantized_too() -> None:
    before = case(qdq_model(bias=False))
    after = before.applied({"first_0": (0, 2)}, {"last": np.array([55, -3])})
    makers = {name: node for node in after.graph.node for name in node.output}
    last = next(node for node in after.graph.node if node.name == "last")
    bias = makers[last.input[2]]
    assert bias.op_type == "DequantizeLinear"
    assert arrays(after)[bias.input[0]].tolist() == [55, -3]
    assert np.allclose(arrays(after)[bias.input[1]], 0.1 * arrays(after)["last_s"])
    onnx.checker.check_model(after, full_check=True)


def test_the_scale_of_a_new_channel_is_one_that_can_be_divided_by() -> None:
    model = qdq_model(bias=True)
    next(initializer for initializer in model.graph.initializer if initializer.name == "first_s").CopyFrom(
        numpy_helper.from_array(np.array([0, np.inf, 0.25], np.float32), "first_s")
    )
    assert arrays(case(model).applied({"first_0": GROW}))["first_s"][3] == 0.25


@pytest.mark.parametrize("elem_type", [TensorProto.INT4, TensorProto.UINT4, TensorProto.UINT8])
def test_zero_points_that_differ_by_channel(elem_type: int) -> None:
    build = Builder(opset=21)
    values, zeros = np.array([1, 7, 3, 5, 6, 2]).reshape(3, 2, 1, 1), np.array([1, 4, 2])
    held = (
        build.typed(values, elem_type, "w"),
        build.const([0.1, 0.2, 0.3], np.float32),
        build.typed(zeros, elem_type, "z"),
    )
    data = build.op("Conv", build.input("x", 1, 2, 4, 4), build.op("DequantizeLinear", *held, axis=0), name="first")
    before = case(build.model(build.conv(data, 3, 2, name="last")))
    after = before.applied({"first_0": (0, None, 1, 2)})
    assert arrays(after)["z"].astype(int).tolist() == [1, 1, 4, 2]
    assert arrays(after)["w"].astype(int)[:, :, 0, 0].tolist() == [[1, 7], [1, 1], [3, 5], [6, 2]]
    tensor = next(initializer for initializer in after.graph.initializer if initializer.name == "w")
    assert tensor.data_type == elem_type
    assert before.proof(after).equal


@pytest.mark.parametrize("zeros", [[[3, 3]] * 3, [[3, 3], [3, 2], [1, 3]]])
def test_weights_quantized_in_blocks(zeros: list[list[int]]) -> None:
    build = Builder(opset=21)
    random = np.random.default_rng(0)
    held = build.typed(random.integers(-8, 8, (3, 4)), TensorProto.INT4, "w")
    points = build.typed(np.array(zeros), TensorProto.INT4, "z")
    scales = build.const(random.uniform(0.1, 0.2, (3, 2)), np.float32, "s")
    real = build.op("DequantizeLinear", held, scales, points, axis=1, block_size=2)
    data = build.op("Gemm", build.input("x", 1, 4), real, transB=1, name="first")
    before = case(build.model(build.op("Gemm", data, build.weights(3, 2))))
    if zeros[1] == [3, 2]:
        with pytest.raises(NotAppliedError, match="differ by block"):
            before.applied({"first_0": GROW})
        assert before.applied({"first_0": (0, 2)}) is not None
    else:
        after = before.applied({"first_0": GROW})
        assert arrays(after)["w"].astype(int)[3].tolist() == [3, 3, 3, 3]
        assert before.proof(after).equal


def test_sparse_constants_are_refused() -> None:
    build, output = two_convs()
    model = build.model(output)
    bias = next(initializer for initializer in model.graph.initializer if initializer.name == "c1")
    values = numpy_helper.from_array(numpy_helper.to_array(bias), "c1")
    places = numpy_helper.from_array(np.arange(3, dtype=np.int64), "")
    model.graph.initializer.remove(bias)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    before = case(model)
    assert "sparse" in refused(before.graph, before.dimensions)[before.leaf("first_0")]
    with pytest.raises(NotAppliedError, match="sparse"):
        before.applied({"first_0": GROW})


def test_normalisation_slopes_and_divisors_keep_a_new_lane_finite() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first")
    numbers = [build.const([value] * 3, np.float32) for value in (2, 3, 4, 5)]
    data = build.op("BatchNormalization", data, *numbers, name="norm")
    data = build.op("PRelu", data, build.weights(3, 1, 1), name="prelu")
    data = build.op("Div", data, build.weights(1, 3, 1, 1), name="div")
    data = build.op("Mul", data, build.weights(3, 1, 1), name="mul")
    before = case(build.model(build.conv(data, 3, 2)))
    after = before.applied({"first_0": GROW})
    filled = [input_of(after, "norm", position)[3] for position in (1, 2, 3, 4)]
    filled += [input_of(after, name, 1).reshape(-1)[3] for name in ("prelu", "div", "mul")]
    assert filled == [1, 0, 0, 1, 0, 1, 0]
    assert before.proof(after).equal


def test_depthwise_groups_and_multipliers_follow() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first")
    data = build.conv(data, 1, 6, 3, name="depthwise", group=3)
    before = case(build.model(build.conv(data, 6, 2, name="last")))
    after = before.applied({"first_0": (0, 1, None, 2)})
    node = next(node for node in after.graph.node if node.name == "depthwise")
    assert helper.get_node_attr_value(node, "group") == 4
    old, new = input_of(before.model, "last", 1), input_of(after, "last", 1)
    assert np.array_equal(new[:, [0, 1, 2, 3, 6, 7]], old)
    assert not new[:, 4:6].any()
    assert before.proof(after).equal


def test_flatten_split_and_slices_by_number_follow() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 2, 2), 2, 3, name="first")
    other = build.conv("x", 2, 2, name="second")
    joined = build.op("Concat", data, other, axis=1, name="join")
    pieces = build.op("Split", joined, build.ints(3, 2), out=2, axis=1, name="split")
    flat = build.op("Reshape", build.op("Transpose", pieces[0], perm=[0, 2, 3, 1]), build.ints(1, 12), name="flat")
    cut = build.op("Slice", joined, build.ints(3), build.ints(5), build.ints(1), name="slice")
    before = case(build.model(build.op("MatMul", flat, build.weights(12, 2), name="dense"), build.conv(cut, 2, 2)))
    after = before.applied({"first_0": GROW})
    assert input_of(after, "split", 1).tolist() == [4, 2]
    assert input_of(after, "flat", 1).tolist() == [1, 16]
    assert [input_of(after, "slice", position).tolist() for position in (1, 2)] == [[4], [6]]
    assert np.flatnonzero(~input_of(after, "dense", 1).any(axis=1)).tolist() == [3, 7, 11, 15]
    assert before.proof(after).equal


# shared constants


def test_a_vector_shared_by_layers_is_copied_before_one_use_changes() -> None:
    build = Builder()
    zeros = build.const([0.0, 0.0, 0.0], np.float32, "zeros")
    data = build.op("Conv", build.input("x", 1, 2, 4, 4), build.weights(3, 2, 1, 1), zeros, name="first")
    data = build.op("Conv", data, build.weights(3, 3, 1, 1), zeros, name="second")
    before = case(build.model(build.op("Conv", data, build.weights(2, 3, 1, 1), name="last")))
    after = before.applied({"first_0": GROW})
    assert input_of(after, "first", 2).shape == (4,)
    assert input_of(after, "second", 2).shape == (3,)
    assert arrays(after)["zeros"].shape == (3,)
    both = before.applied({"first_0": GROW, "second_0": GROW})
    assert [initializer.name for initializer in both.graph.initializer] == [
        initializer.name for initializer in before.model.graph.initializer
    ]
    assert before.proof(after).equal


def test_weights_shared_under_two_zero_points_are_filled_with_each() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first")
    held, step = build.const(np.arange(6).reshape(2, 3, 1, 1), np.uint8, "w"), build.const(0.1, np.float32)
    outputs = []
    for zero in (2, 4):
        real = build.op("DequantizeLinear", held, step, build.const(zero, np.uint8), name=f"dq{zero}")
        outputs.append(build.op("Conv", data, real))
    before = case(build.model(build.op("Add", *outputs)))
    after = before.applied({"first_0": GROW})
    assert [input_of(after, f"dq{zero}", 0)[:, 3, 0, 0].tolist() for zero in (2, 4)] == [[2, 2], [4, 4]]
    assert before.proof(after).equal


def test_sizes_that_two_reshapes_share_are_copied() -> None:
    build = Builder()
    shared = build.ints(1, 3, 16)
    data = build.conv(build.input("x", 1, 3, 4, 4), 3, 3, name="first")
    taken = build.op("Reshape", data, shared, name="inner")
    kept = build.op("Reshape", "x", shared, name="outer")
    before = case(build.model(build.op("Conv", taken, build.weights(2, 3, 1)), kept))
    after = before.applied({"first_0": GROW})
    assert input_of(after, "inner", 1).tolist() == [1, 4, 16]
    assert input_of(after, "outer", 1).tolist() == [1, 3, 16]
    assert before.proof(after).equal


def test_a_size_handed_on_by_concat_is_written_where_it_is_stored() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 3, 4, 4), 3, 3, name="first")
    batch = build.op("Gather", build.op("Shape", data), build.ints(0))
    target = build.op("Concat", batch, build.const([3], np.int64, "three"), build.ints(-1), axis=0)
    before = case(build.model(build.op("Conv", build.op("Reshape", data, target), build.weights(2, 3, 1))))
    after = before.applied({"first_0": GROW})
    assert arrays(after)["three"].tolist() == [4]
    assert before.proof(after).equal


def test_a_size_that_something_else_reads_too_is_refused() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 3, 4, 4), 3, 3, name="first")
    three = build.const([3], np.int64, "three")
    target = build.op("Concat", build.ints(1), build.op("Identity", three), build.ints(-1), axis=0)
    other = build.op("Cast", build.op("Identity", three), to=TensorProto.FLOAT)
    read = build.op("Conv", build.op("Reshape", data, target), build.weights(2, 3, 1))
    before = case(build.model(build.op("Add", read, other)))
    with pytest.raises(NotAppliedError, match="reads the size in `three` for something else"):
        before.applied({"first_0": GROW})
    assert list(refused(before.graph, before.dimensions)) == [before.leaf("first_0")]


def test_a_number_for_two_sizes_is_refused_where_only_one_changes() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 3, 4, 4), 3, 3, name="first")
    three = build.op("Identity", build.const([3], np.int64, "three"))
    targets = [build.op("Concat", build.ints(1), three, build.ints(-1), axis=0) for _ in range(2)]
    read = build.op("Conv", build.op("Reshape", data, targets[0]), build.weights(2, 3, 1))
    before = case(build.model(read, build.op("Reshape", "x", targets[1])))
    with pytest.raises(NotAppliedError, match="element 0 of `three` names two sizes that change differently"):
        before.applied({"first_0": GROW})


# forms of storage


@pytest.mark.parametrize("ir_version", [3, 8])
def test_constants_in_nodes_and_among_the_inputs(ir_version: int) -> None:
    build = Builder(opset=8)
    data = build.input("x", 1, 2, 4, 4)
    build.nodes.append(
        helper.make_node("Constant", [], ["bias"], value=numpy_helper.from_array(np.ones(3, np.float32)))
    )
    data = build.op("Conv", data, build.weights(3, 2, 1, 1, name="w1"), "bias", name="first")
    data = build.op("Conv", data, build.weights(3, 3, 1, 1, name="w2"), "bias", name="second")
    model = build.model(build.op("Conv", data, build.weights(2, 3, 1, 1, name="w3"), name="last"))
    model.ir_version = ir_version
    if ir_version == 3:
        model.graph.input.extend(
            helper.make_tensor_value_info(initializer.name, initializer.data_type, initializer.dims)
            for initializer in model.graph.initializer
        )
    before = case(model)
    after = before.applied({"first_0": GROW})
    assert input_of(after, "first", 2).tolist() == [1, 1, 1, 0]
    assert input_of(after, "second", 2).tolist() == [1, 1, 1]
    proof = before.proof(after)
    assert proof.equal, proof.reason


def test_numbers_in_typed_lists_keep_their_bits() -> None:
    build, output = two_convs()
    model = build.model(output)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values.reshape(-1).tolist())
    before = case(model)
    after = before.applied({"first_0": GROW})
    assert np.array_equal(input_of(after, "first", 1)[:3], input_of(model, "first", 1))
    assert before.proof(after).equal


def test_plain_numbers_in_constant_nodes() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 3, 4, 4), 3, 3, name="first")
    build.nodes.append(helper.make_node("Constant", [], ["target"], value_ints=[1, 3, 16]))
    build.nodes.append(helper.make_node("Constant", [], ["steps"], value_floats=[1.0, 2.0, 3.0]))
    data = build.op("Add", build.op("Transpose", data, perm=[0, 2, 3, 1]), "steps")
    data = build.op("Reshape", build.op("Transpose", data, perm=[0, 3, 1, 2]), "target")
    before = case(build.model(build.op("Conv", data, build.weights(2, 3, 1))))
    after = before.applied({"first_0": GROW})
    values = {node.output[0]: node.attribute[0] for node in after.graph.node if node.op_type == "Constant"}
    assert list(values["target"].ints) == [1, 4, 16]
    assert list(values["steps"].floats) == [1, 2, 3, 0]
    assert before.proof(after).equal


def test_constants_inside_branches() -> None:
    before = case(branch_model())
    after = before.applied({"first_0": GROW, "if_0": GROW})
    node = next(node for node in after.graph.node if node.name == "if")
    for attribute in node.attribute:
        assert numpy_helper.to_array(attribute.g.initializer[0]).shape == (4, 4, 1, 1)
        assert [dim.dim_value for dim in attribute.g.output[0].type.tensor_type.shape.dim] == [1, 4, 4, 4]
    proof = before.proof(after)
    assert proof.equal, proof.reason


FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
agraph (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y)
{
  first_0 = Conv (x, w1)
  second_0 = Conv (first_0, w2)
  third_0 = local.activate (second_0)
  y = Conv (third_0, w3)
}
<domain: "local", opset_import: ["" : 17]>
activate (data) => (made) { made = Relu (data) }
"""


def test_classes_that_reach_into_local_functions_are_refused_others_not() -> None:
    model = parser.parse_model(FUNCTION)
    for name, shape in (("w1", (3, 2, 1, 1)), ("w2", (3, 3, 1, 1)), ("w3", (2, 3, 1, 1))):
        model.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    before = case(model)
    refusals = refused(before.graph, before.dimensions)
    assert list(refusals) == [before.leaf("second_0")]
    assert "local function" in refusals[before.leaf("second_0")]
    with pytest.raises(NotAppliedError, match="local function"):
        before.applied({"second_0": GROW})
    assert before.proof(before.applied({"first_0": GROW})).equal


def test_external_data_are_read_for_what_changes_and_stay_for_what_does_not(tmp_path) -> None:
    build, output = two_convs()
    model = build.model(output)
    path = tmp_path / "m.onnx"
    onnx.save(
        build.model(output),
        path,
        save_as_external_data=True,
        location="m.bin",
        size_threshold=0,
        convert_attribute=False,
    )
    stored = onnx.load(path, load_external_data=False)
    before = case(stored, str(path))
    after = before.applied({"first_0": GROW})
    places = {initializer.name: initializer.data_location for initializer in after.graph.initializer}
    assert places == {"c0": 0, "c1": 0, "c2": 0, "c3": TensorProto.EXTERNAL}
    assert np.array_equal(input_of(after, "first", 1)[:3], input_of(model, "first", 1))
    assert prove(path.read_bytes(), after.SerializeToString(), beside=path).equal
    (tmp_path / "m.bin").unlink()
    with pytest.raises(NotAppliedError, match="not a file beside the model"):
        before.applied({"first_0": GROW})


def test_stated_shapes_that_are_not_true_are_dropped() -> None:
    build, output = two_convs()
    model = build.model(output)
    stated = next(value for value in model.graph.value_info if value.name == "first_0")
    stated.type.tensor_type.shape.dim[1].dim_value = 5
    before = case(model)
    after = before.applied({"first_0": GROW})
    assert [value.name for value in after.graph.value_info] == []
    assert before.proof(after).equal


# what cannot be done


def test_a_plan_has_to_make_sense() -> None:
    build, output = two_convs()
    before = case(build.model(output))
    leaf = before.leaf("first_0")
    locked = before.dimensions.class_of("x", 1).id
    for kept, reason in (
        ({leaf: ()}, "keeps"),
        ({leaf: (None,)}, "keeps"),
        ({leaf: (0, 0)}, "keeps"),
        ({leaf: (0, 3)}, "keeps"),
        ({locked: (0, 1, None)}, "locked: graph input x"),
        ({99: (0,)}, "there is no class 99"),
    ):
        with pytest.raises(NotAppliedError, match=reason):
            with_plan(before.model, before.graph, before.dimensions, Plan(kept))


def test_weights_that_would_not_be_zero_are_refused() -> None:
    build = Builder()
    data = build.conv(build.input("x", 1, 2, 4, 4), 2, 3, name="first")
    before = case(build.model(build.op("Conv", data, build.op("Exp", build.weights(2, 3, 1, 1)), name="last")))
    with pytest.raises(NotAppliedError, match="come through Exp"):
        before.applied({"first_0": GROW})
    assert before.applied({"first_0": (0, 2)}) is not None


@given(models())
def test_growing_says_what_the_layouts_of_one_more_lane_change(model: onnx.ModelProto) -> None:
    before = case(model)
    uses = Uses(before.graph, before.dimensions)
    assert before.dimensions.classes
    for group in before.dimensions.classes:
        if group.freedom is not Freedom.LOCKED:
            plan = Plan({group.id: (*range(group.size), None)})
            assert _outcome(lambda group=group: growing(uses, group)) == _outcome(
                lambda plan=plan: {
                    key: [use for use, layout in changed.items() if layout != SAME]
                    for key, changed in layouts(uses, plan).items()
                }
            )


def _outcome(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except NotAppliedError as reason:
        return str(reason)
