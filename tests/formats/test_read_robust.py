"""Reading survives anything: every model of the onnx package, mutated models, large graphs, damaged bytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

import mutate_models
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.model.graph import Graph
from onnxlint_cmsis.model.model_error import ModelError
from support import paths
from support.draws import draws
from support.read_models import conv_model, model, node_at, read, tensor, texts, value

SHARED = paths.SHARED / "models"
STORED = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data").glob("**/*.onnx"))


def check_consistent(graph: Graph, data: bytes) -> None:
    """What holds for every graph that can be read."""
    keys = {key for node in graph.nodes for key in (*node.inputs, *node.outputs) if key}
    assert keys <= set(graph.tensors)
    assert [node.index for node in graph.nodes] == list(range(len(graph.nodes)))
    for node in graph.nodes:
        assert all(graph.producers[key].index <= node.index for key in node.outputs if key)
        assert all(node in graph.consumers[key] for key in node.inputs if key)
        assert node.offset < 0 or node_at(data, node).op_type == node.op_type
    for constant in graph.constants.values():
        values = constant.values()
        assert values is None or len(values) == np.prod(constant.shape, dtype=object)
        assert graph.shape(constant.name) == constant.shape
    for tensor_ in graph.tensors.values():
        assert tensor_.shape is None or all(size is None or 0 <= size < 2**31 for size in tensor_.shape)


def node_models():
    """The operator test models that the onnx package makes."""
    from onnx.backend.test.case.node import collect_testcases

    return [(case.name, case.model.SerializeToString()) for case in collect_testcases(None) if case.model is not None]


@pytest.fixture(scope="module")
def operator_models():
    with np.errstate(all="ignore"):
        return node_models()


def test_every_model_of_the_onnx_package(operator_models):
    models = [*operator_models, *((path.name, path.read_bytes()) for path in STORED)]
    assert len(models) > 1500
    for name, data in models:
        graph = read(data)
        check_consistent(graph, data)
        assert texts(graph) == [], name
        assert all(node.offset > 0 for node in graph.nodes), name


@pytest.mark.parametrize("seed", ["1", "2"])
def test_mutated_models_do_not_crash_the_process(operator_models, tmp_path, seed):
    """Attributes, shapes, constants and inputs replaced by extreme ones; in another process, as C++ may crash."""
    for name, data in operator_models:
        (tmp_path / f"{name}.onnx").write_bytes(data)
    options = ["--commands", "read", "--kind", "parts", "--count", "4000", "--seed", seed]
    command = [sys.executable, mutate_models.__file__, str(tmp_path), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"4000 damaged models, .*, 0 complaints\n", done.stdout), done.stdout


def unknown_input(op_type, **attributes):
    """An operator that reads what an operator of another domain makes."""
    domain = attributes.pop("domain", "")
    return [
        helper.make_node("Odd", ["x"], ["t"], domain="odd"),
        helper.make_node(op_type, ["t"], ["y"], domain=domain, **attributes),
    ]


DANGEROUS = [
    unknown_input("RegexFullMatch", pattern="a"),
    unknown_input("EyeLike"),
    unknown_input("TreeEnsemble", domain="ai.onnx.ml"),
    unknown_input("LabelEncoder", domain="ai.onnx.ml"),
    unknown_input("DictVectorizer", domain="ai.onnx.ml"),
    [helper.make_node("EyeLike", [""], ["y"])],
    [helper.make_node("LayerNormalization", ["x", "x"], ["y"], axis=2**63 - 1)],
    [helper.make_node("LayerNormalization", ["x", "x"], ["y", "m", "v"], axis=100)],
    [helper.make_node("GatherND", ["x", "i"], ["y"], batch_dims=-2)],
    [helper.make_node("Einsum", ["x"], ["y"], equation="...ii\n->...i")],
    [helper.make_node("Einsum", ["x"], ["y"], equation="\x7f")],
    [helper.make_node("Split", ["x"], ["y", "z"], num_outputs=2**31)],
    [helper.make_node("Conv", ["x", "x"], ["y"], strides=[0, 0], dilations=[0, 0], group=0)],
    [helper.make_node("ConvTranspose", ["x", "x"], ["y"], strides=[-1, 2**62], group=-1)],
    [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[0, 2**63 - 1], strides=[0, 0])],
]


@pytest.mark.parametrize("nodes", DANGEROUS, ids=lambda nodes: nodes[-1].op_type)
def test_nodes_that_crash_or_stop_the_inference_of_onnx(nodes):
    inputs = [value("x", [1, 2, 5, 5]), value("i", [2, 1], 7)]
    proto = model(nodes, inputs, [value("y", None)], opset=20, opsets=[("odd", 1), ("ai.onnx.ml", 5)])
    start = time.process_time()
    assert [node.op_type for node in read(proto).nodes] == [node.op_type for node in nodes]
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name_of", ["name", "op_type", "input", "value", "metadata", "attribute"])
def test_names_that_are_not_utf8(name_of):
    """Protobuf hands such a name over as bytes, which no other code expects."""
    proto = conv_model()
    node = proto.graph.node[0]
    node.name, node.op_type = "QZname", "QZop_type"
    node.input[1] = "QZinput"
    node.attribute.add(name="QZattribute", type=2)
    proto.graph.value_info.add(name="QZvalue")
    proto.metadata_props.add(key="k", value="QZmetadata")
    data = proto.SerializeToString()
    assert data.count(b"QZ" + name_of.encode()) == 1
    with pytest.raises(ModelError, match="not UTF-8") as caught:
        read(data.replace(b"QZ" + name_of.encode(), b"\xff\xfe" + name_of.encode()))
    assert caught.value.kind == "not-a-model"


def test_a_list_of_numbers_that_is_cut_short_in_the_middle():
    """The last number of a packed list says that more bytes follow; found only when the values are read."""
    weight = onnx.TensorProto(name="w", data_type=6, dims=[2000], int32_data=[1] * 2000)
    data = model([], [], [value("w", [2000], 6)], [weight]).SerializeToString()
    position = data.rindex(b"\x01" * 2000) + 1999
    graph = read(data[:position] + b"\x81" + data[position + 1 :])
    assert graph.constants["w"].values() is None


SMALL = conv_model((2, 4, 1, 1), group=1)
SMALL.graph.node.append(
    helper.make_node(
        "If",
        ["c"],
        ["z"],
        then_branch=helper.make_graph([helper.make_node("Shape", ["y"], ["s"])], "b", [], [value("s", [4], 7)]),
    )
)
SMALL.graph.input.append(value("c", [], 9))
SMALL.graph.initializer.append(tensor("big", np.ones(600, np.float32)))
SMALL_BYTES = SMALL.SerializeToString()


@settings(max_examples=draws(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(0, len(SMALL_BYTES) - 1), st.integers(0, 255)), max_size=4),
    st.one_of(st.none(), st.integers(0, len(SMALL_BYTES))),
)
def test_damaged_bytes(flips, end):
    data = bytearray(SMALL_BYTES)
    for position, byte in flips:
        data[position] = byte
    damaged = bytes(data[:end])
    try:
        graph = load("m.onnx", data=damaged)
    except ModelError as error:
        assert error.kind in ("not-a-model", "too-deep", "lfs-pointer")
        assert error.message
    else:
        check_consistent(graph, damaged)


def test_a_name_of_a_size_that_is_not_utf8_is_no_name():
    damaged = SMALL_BYTES.replace(b"\x12\x01N\n", b"\x12\x01\x80\n")
    assert damaged != SMALL_BYTES
    check_consistent(load("m.onnx", data=damaged), damaged)


@settings(max_examples=draws(200), deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data):
    try:
        graph = load("-", data=data)
    except ModelError:
        return
    check_consistent(graph, data)


def chain(count):
    nodes = [
        helper.make_node("Conv" if i % 2 else "Relu", [f"t{i}"] + ["w"] * (i % 2), [f"t{i + 1}"]) for i in range(count)
    ]
    weight = tensor("w", np.ones((4, 4, 1, 1), np.float32))
    outputs = [value(f"t{count}", ["N", 4, 8, 8])]
    return model(nodes, [value("t0", ["N", 4, 8, 8])], outputs, [weight]).SerializeToString()


def test_time_grows_with_the_nodes():
    """Processor time of 10,000 nodes is under 15 times that of 1,000; the best of three, after one to warm up."""
    times = {}
    for count in (100, 1000, 10000):
        data = chain(count)
        best = []
        for _ in range(3):
            start = time.process_time()
            graph = read(data)
            best.append(time.process_time() - start)
        times[count] = min(best)
        assert graph.shape(f"t{count}") == (1, 4, 8, 8)
        assert texts(graph) == []
    assert times[10000] < 15 * times[1000]


def test_rank_one_values_are_not_laid_out_element_by_element():
    """ONNX's data propagation takes gigabytes for this."""
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Concat", ["y", "y"], ["z"], axis=0)]
    start = time.process_time()
    graph = read(model(nodes, [value("x", [2**30])], [value("z", [2**31 - 1])]))
    assert graph.shape("y") == (2**30,)
    assert time.process_time() - start < 5


def test_importing_costs_no_heavy_module():
    code = (
        "import onnx, sys, json\nbefore = set(sys.modules)\n"
        "import onnxlint_cmsis.formats.onnx.load\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.ROOT)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    others = [name for name in json.loads(run.stdout) if not name.startswith(("onnxlint_cmsis", "numpy."))]
    assert set(others) <= {"mmap", "dataclasses", "gc"}


def unknown(graph, key):
    shape = graph.shape(key)
    return shape is None or None in shape


@pytest.mark.skipif(not SHARED.exists(), reason="the third-party models are not beside the project")
def test_third_party_models():
    paths = sorted(SHARED.glob("*.onnx"))
    assert paths
    for path in paths:
        graph = load(path)
        check_consistent(graph, path.read_bytes())
        proto = onnx.load(path, load_external_data=False)
        main = [node for node in graph.nodes if not node.graph]
        assert [node.op_type for node in main] == [node.op_type for node in proto.graph.node]
        symbolic = any(size is None for key in graph.inputs for size in graph.shape(key) or ())
        open_shapes = [k for n in graph.nodes for k in n.outputs if k and unknown(graph, k)]
        assert symbolic or not open_shapes, path.name
        assert all(graph.elem_type(k) for n in graph.nodes for k in n.outputs if k), path.name


@pytest.mark.skipif(not SHARED.exists(), reason="the third-party models are not beside the project")
def test_sizes_given_to_third_party_models():
    graph = load(SHARED / "silero_vad_16k_op15.onnx", input_shapes={"input": (1, 576), "state": (2, 1, 128)})
    convolutions = {n.name: graph.shape(n.outputs[0]) for n in graph.nodes if n.is_op("Conv")}
    assert convolutions["/model/stft/Conv"] == (1, 258, 4)
    for name, sizes in (("yunet_n_dynamic", {"input": (1, 3, 320, 320)}), ("ppocrv4_det", {"x": (1, 3, 320, 320)})):
        graph = load(SHARED / f"{name}.onnx", input_shapes=sizes)
        assert not any(unknown(graph, k) for n in graph.nodes for k in n.outputs if k)
