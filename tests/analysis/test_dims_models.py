"""Whole graphs: control flow, graph interface, size, the third-party models beside the repository."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlint_cmsis.analysis.classes import analyse
from onnxlint_cmsis.formats.names import operator_named
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.ground.types import Freedom
from support.dims_graphs import Builder, check_results, check_shapes, freedom, labels, reasons, resize, run
from support.goldens import Told
from support.models import read
from support.stems import stem
from support.third_party_models import NOT_RUN, SHARED, feed, model_names, needs_models, runnable


@needs_models
@pytest.mark.parametrize("name", [name for name in model_names() if name not in NOT_RUN])
def test_growing_every_movable_class_changes_no_output(name: str) -> None:
    model = runnable(name)
    dimensions = analyse(read(model))
    movable = [group for group in dimensions.classes if group.freedom is not Freedom.LOCKED]
    changed = resize(model, dimensions, {group.id: (*range(group.size), None) for group in movable})
    check_shapes(changed, dimensions, {group.id: group.size + 1 for group in movable})
    inputs = feed(name, model)
    check_results(run(model, inputs), run(changed, inputs))


@needs_models
def test_every_model_is_analysed() -> None:
    names = [*model_names()]
    assert names
    for name in names:
        dimensions = analyse(load(SHARED / name))
        assert dimensions.classes, name
        assert [group.id for group in dimensions.classes] == list(range(len(dimensions.classes)))
        for group in dimensions.classes:
            assert (group.freedom is Freedom.LOCKED) == bool(group.locks)
            if group.freedom is not Freedom.LOCKED:
                assert (group.freedom is Freedom.FREE) == (len(group.deciders) == 1)


def summary(name: str) -> list[tuple[int, str, int, int]]:
    """Size, freedom, number of deciders and of readers of every class of a model."""
    classes = analyse(load(SHARED / name)).classes
    return [(group.size, group.freedom.value, len(group.deciders), len(group.readers)) for group in classes]


@needs_models
def test_resnet8_couples_its_residuals() -> None:
    assert summary("resnet8_int8_tf.onnx") == [
        (3, "LOCKED", 0, 1),
        (16, "COUPLED", 2, 3),
        (16, "FREE", 1, 1),
        (32, "COUPLED", 2, 2),
        (32, "FREE", 1, 1),
        (64, "COUPLED", 2, 1),
        (64, "FREE", 1, 1),
        (10, "LOCKED", 1, 0),
    ]


@needs_models
def test_keyword_spotting_couples_pointwise_and_depthwise() -> None:
    assert summary("kws_ds_cnn_int8_tf.onnx") == [
        (1, "LOCKED", 0, 1),
        *[(64, "COUPLED", 2, 1)] * 4,
        (64, "FREE", 1, 1),
        (12, "LOCKED", 1, 0),
    ]


@needs_models
def test_shuffles_with_group_2_of_even_halves_are_followed() -> None:
    dimensions = analyse(load(SHARED / "light_shufflenet_op9.onnx"))
    movable = [group for group in dimensions.classes if group.freedom is Freedom.COUPLED]
    assert len(movable) == 12
    assert all(len(group.deciders) == 2 for group in movable)


@needs_models
def test_the_index_names_no_operator_without_a_rule_that_could_have_one() -> None:
    lines = (SHARED / "INDEX.jsonl").read_text().splitlines()
    assert lines
    for line in lines:
        for op_type in json.loads(line)["op_histogram"]:
            assert operator_named("", op_type).known, op_type


def branch(name: str, captured: str) -> onnx.GraphProto:
    weights = numpy_helper.from_array(np.ones((6, 6, 1, 1), np.float32), f"{name}_w")
    node = helper.make_node("Conv", [captured, f"{name}_w"], [f"{name}_out"], f"{name}_conv")
    output = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [1, 6, 4, 4])
    return helper.make_graph([node], name, [], [output], [weights])


def test_branches_of_if_are_tied_to_its_output() -> None:
    build, data = stem()
    condition = build.input("yes", elem_type=TensorProto.BOOL)
    output = build.op("If", condition, then_branch=branch("a", data), else_branch=branch("b", data), name="if")
    dimensions = build.analyse(build.conv(output, 6, 2, name="head"))
    assert sorted(labels(dimensions, output, 1)) == ["a_conv", "b_conv"]
    assert freedom(dimensions, output, 1) == "COUPLED"
    assert freedom(dimensions, data, 1) == "FREE"


def test_what_a_loop_carries_is_locked(told: Told) -> None:
    build, data = stem()
    body = helper.make_graph(
        [helper.make_node("Relu", ["state"], ["next"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, 6, 4, 4]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1, 6, 4, 4]),
        ],
    )
    output = build.op("Loop", build.const(3, np.int64), "", data, body=body, name="loop")
    dimensions = build.analyse(build.conv(output, 6, 2))
    told(reasons(dimensions, data, 1))


def test_recurrent_state_is_locked(told: Told) -> None:
    build = Builder()
    data = build.op("MatMul", build.input("x", 5, 1, 3), build.weights(3, 4), name="stem")
    output = build.op("GRU", data, build.weights(1, 6, 4), build.weights(1, 6, 2), hidden_size=2, out=["y"], name="gru")
    told(reasons(build.analyse(output), "stem_0", 2))


def test_an_initializer_that_a_caller_may_replace_is_locked(told: Told) -> None:
    build, data = stem()
    output = build.conv(data, 6, 2, name="head")
    build.inputs.append(helper.make_tensor_value_info("c0", TensorProto.FLOAT, [6, 3, 1, 1]))
    dimensions = build.analyse(output)
    told(reasons(dimensions, "stem_0", 1))


def test_a_size_that_leaves_the_graph_is_locked(told: Told) -> None:
    build, data = stem()
    sizes = build.op("Shape", data)
    dimensions = build.analyse(build.conv(data, 6, 2), sizes)
    told(reasons(dimensions, "stem_0", 1))


def test_a_class_without_a_layer_is_locked_for_that(told: Told) -> None:
    build = Builder()
    grown = build.op("Expand", build.input("x", 1, 1, 4, 4), build.ints(1, 6, 4, 4), name="grow")
    dimensions = build.analyse(build.conv(grown, 6, 2))
    assert reasons(dimensions, "grow_0", 1) == []
    told([str(lock) for lock in dimensions.class_of("grow_0", 1).locks])


def test_ids_have_no_gaps_where_a_size_is_symbolic() -> None:
    build = Builder()
    data = build.op("MatMul", build.input("x", 1, 3), build.input("w", 3, "n"), name="first")
    shaped = build.op("Reshape", build.weights(4, 6), build.ints(-1, 6))
    output = build.op(
        "MatMul", build.op("MatMul", data, build.op("Identity", shaped)), build.weights(6, 2), name="last"
    )
    dimensions = build.analyse(output)
    assert [dimensions.class_with_id(group.id) for group in dimensions.classes] == list(dimensions.classes)
    assert [group.id for group in dimensions.classes] == list(range(len(dimensions.classes)))


def test_tensors_that_are_not_there() -> None:
    build, data = stem()
    dimensions = build.analyse(build.conv(data, 6, 2))
    assert dimensions.axes("nowhere") is None
    assert dimensions.class_of("nowhere", 0) is None
    assert dimensions.class_of("stem_0", 7) is None
    with pytest.raises(KeyError):
        dimensions.axis("nowhere", 0)


def test_ten_thousand_nodes_and_a_doubling_concat() -> None:
    build = Builder()
    data = build.input("x", 1, 2, 1, 1)
    for _ in range(40):
        data = build.op("Relu", build.op("Concat", data, data, axis=1))
    dimensions = build.analyse(data)
    assert dimensions.axes(data) is not None
    build, data = stem(2)
    for _ in range(5_000):
        data = build.op("Relu", build.op("Identity", data))
    value = helper.make_tensor_value_info(data, TensorProto.FLOAT, [1, 2, 4, 4])
    opset = helper.make_opsetid("", 17)
    graph = helper.make_graph(build.nodes, "long", build.inputs, [value], build.initializers)
    dimensions = analyse(load("long.onnx", data=helper.make_model(graph, opset_imports=[opset]).SerializeToString()))
    assert len(dimensions.class_of("stem_0", 1).members) == 10_003
