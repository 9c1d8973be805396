"""A `.tflite` file as a Graph: operators by their own names, layouts as they are, quantization on tensors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from onnxlint_cmsis.formats.tflite.arrays import array_of
from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.formats.tflite.to_graph import load_tflite
from onnxlint_cmsis.model.model_error import ModelError
from support import paths
from support.tflite_models import conv_model, streaming_model, tensor
from support.tflite_writer import operator_code, write

SHARED = sorted((paths.SHARED / "models" / "tflite").glob("*.tflite"))


def graph_of(model):
    return load_tflite("m.tflite", data=write(model)).graph


def test_an_operator_is_a_node_with_its_own_name():
    data = write(conv_model())
    graph = load_tflite("m.tflite", data=data).graph
    (node,) = graph.nodes
    assert (node.domain, node.op_type, node.opset, node.label) == ("tflite", "CONV_2D", 3, "CONV_2D#0")
    assert (node.inputs, node.outputs) == (("x", "w", ""), ("y",))
    assert node.text("fused_activation_function") == "RELU6"
    assert node.int("stride_w") == 2
    assert data[node.offset : node.offset + node.length] != b""
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
    assert graph.producers["y"] is node
    assert graph.consumers["x"] == (node,)
    assert graph.metadata == {"min_runtime_version": "1.5.0"}
    assert graph.problems == ()


def test_sizes_types_and_quantization_stay_on_the_tensors():
    graph = graph_of(conv_model())
    assert graph.shape("x") == (1, 5, 5, 8)
    assert graph.elem_type("w") == "int8"
    assert graph.quantization["w"].scales == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert graph.quantization["w"].axis == 0
    assert graph.quantization["x"].scales == (0.5,)
    assert graph.constants["w"].values() == tuple(range(32))
    assert "x" not in graph.constants


@pytest.mark.parametrize("shape", [[-1, 4], [-1, 2**31 - 1, 2**31 - 1, 8]], ids=str)
def test_a_constant_of_an_open_size_has_no_values(shape):
    model = conv_model()
    for kind in ("INT8", "INT4"):
        model["subgraphs"][0]["tensors"][1].update(type=kind, shape=shape)
        file = read_tflite("m.tflite", write(model))
        assert array_of(file, file.subgraphs[0].tensors[1]) is None


def test_int4_values_are_unpacked_lower_half_first():
    model = conv_model()
    model["subgraphs"][0]["tensors"][1].update(type="INT4", shape=[1, 1, 1, 3])
    model["buffers"][1] = {"data": [0x7F, 0x08]}
    assert graph_of(model).constants["w"].values() == (-1, 7, -8)


def test_bytes_that_are_too_few_give_no_values():
    model = conv_model()
    model["buffers"][1] = {"data": [1, 2, 3]}
    assert graph_of(model).constants["w"].values() is None


def test_tensors_of_one_name_have_keys_of_their_own():
    model = conv_model()
    for item in model["subgraphs"][0]["tensors"]:
        item["name"] = "same"
    (node,) = graph_of(model).nodes
    assert len({*node.inputs, *node.outputs}) == 4


def test_custom_operators_have_a_domain_of_their_own():
    graph = graph_of(conv_model(operator_codes=[operator_code("CUSTOM", custom_code="ethos-u")]))
    assert (graph.nodes[0].domain, graph.nodes[0].op_type) == ("tflite.custom", "ethos-u")


def test_an_encoding_that_is_not_read_is_told(told):
    model = conv_model()
    model["subgraphs"][0]["tensors"][1]["sparsity"] = {"traversal_order": [0]}
    graph = graph_of(model)
    assert [problem.kind for problem in graph.problems] == ["undecided"]
    told(graph.problems[0].message)
    assert graph.constants["w"].values() is None


def branching(then: int = 1, other: int = 2):
    """IF with two bodies of one RELU each."""
    body = {
        "tensors": [tensor("a", [1, 4]), tensor("b", [1, 4])],
        "inputs": [0],
        "outputs": [1],
        "operators": [{"opcode_index": 1, "inputs": [0], "outputs": [1]}],
    }
    options = {"then_subgraph_index": then, "else_subgraph_index": other}
    main = {
        "tensors": [tensor("x", [1, 4]), tensor("y", [1, 4])],
        "inputs": [0],
        "outputs": [1],
        "operators": [{"opcode_index": 0, "inputs": [0], "outputs": [1], "builtin_options": ("IfOptions", options)}],
    }
    codes = [operator_code("IF"), operator_code("RELU")]
    return {"version": 3, "operator_codes": codes, "subgraphs": [main, body, dict(body)], "buffers": [{}]}


def test_bodies_follow_the_operator_that_runs_them():
    graph = graph_of(branching())
    assert [node.label for node in graph.nodes] == ["IF#0", "subgraph1:RELU#0", "subgraph2:RELU#0"]
    assert [node.graph for node in graph.nodes] == ["", "IF#0/then_subgraph", "IF#0/else_subgraph"]
    first, second = graph.nodes[0].bodies
    assert first.inputs == ("IF#0/then_subgraph/a",)
    assert second.outputs == ("IF#0/else_subgraph/b",)
    assert graph.consumers["IF#0/else_subgraph/b"] == (graph.nodes[0],)


def test_a_subgraph_that_nothing_runs_is_told(told):
    model = branching(then=1, other=1)
    model["signature_defs"] = [{"signature_key": "train", "subgraph_index": 2}]
    (problem,) = graph_of(model).problems
    told(problem.message)


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (branching(then=0), "not-a-model", "subgraph 0 runs itself"),
        (branching(then=7), "not-a-model", "names subgraph 7"),
    ],
)
def test_control_flow_that_never_ends_is_refused(model, kind, words):
    with pytest.raises(ModelError, match=words) as caught:
        graph_of(model)
    assert caught.value.kind == kind


def test_control_flow_nested_too_deep_is_refused():
    model = branching()
    main, body, _ = model["subgraphs"]
    chain = []
    for number in range(80):
        options = {"then_subgraph_index": number + 1, "else_subgraph_index": number + 1}
        operator = {**main["operators"][0], "builtin_options": ("IfOptions", options)}
        chain.append({**main, "operators": [operator]})
    model["subgraphs"] = [*chain, body]
    with pytest.raises(ModelError, match="nested deeper than 50") as caught:
        graph_of(model)
    assert caught.value.kind == "too-deep"


def test_a_cycle_is_refused():
    model = conv_model()
    model["subgraphs"][0]["operators"][0]["inputs"] = [2, 1]
    with pytest.raises(ModelError, match="which operator 0 computes: a cycle"):
        graph_of(model)


def test_reading_loads_neither_onnx_nor_numpy():
    code = "import sys; import onnxlint_cmsis.formats.tflite.to_graph; print({'onnx', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.skipif(not SHARED, reason="the third-party models are not beside the project")
def test_every_real_model_becomes_a_graph():
    assert SHARED
    for path in SHARED:
        graph = load_tflite(path).graph
        keys = {key for node in graph.nodes for key in (*node.inputs, *node.outputs) if key}
        assert keys <= set(graph.tensors)
        assert [node.index for node in graph.nodes] == list(range(len(graph.nodes)))
        for node in graph.nodes:
            assert all(graph.producers[key].index < node.index for key in node.inputs if key in graph.producers)


def test_what_call_once_runs_is_computed_once():
    graph = graph_of(streaming_model())
    inner = [node.index for node in graph.nodes if node.graph]
    assert len(inner) == 3
    assert graph.once == frozenset(inner)


def test_a_subgraph_that_every_run_enters_too_is_not_computed_once():
    model = streaming_model()
    main = model["subgraphs"][0]
    condition = {"name": "c", "shape": [1], "type": "BOOL", "buffer": 0}
    main["tensors"].append(condition)
    main["inputs"].append(4)
    model["operator_codes"].append(operator_code("IF"))
    branches = ("IfOptions", {"then_subgraph_index": 1, "else_subgraph_index": 1})
    main["operators"].append({"opcode_index": 6, "inputs": [4], "builtin_options": branches})
    assert graph_of(model).once == frozenset()


def test_no_two_operators_share_a_name():
    labels = [node.label for node in graph_of(streaming_model()).nodes]
    assert len(set(labels)) == len(labels)
    assert "subgraph1:CONV_2D#1" in labels
