"""Reading without weights: what stays in the copy, what is left out, where nodes and values are in the file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, checker, helper

from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.formats.onnx.strip import strip
from onnxlint_cmsis.formats.onnx.wire import encode_varint, length_delimited, varint, varints
from support.draws import draws
from support.read_models import conv_model, model, node_at, read, tensor, value


@given(st.integers(0, 2**64 - 1))
def test_varint_round_trip(number):
    assert varint(encode_varint(number), 0) == (number, len(encode_varint(number)))


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_varint(number):
    dims = TensorProto(dims=[number]).SerializeToString()
    assert varints(dims, 1, len(dims)) == [number]


def large(**fields):
    return TensorProto(name="w", dims=[1024], **fields)


LARGE = {
    "raw_data": large(data_type=1, raw_data=bytes(4096)),
    "float_data": large(data_type=1, float_data=[1.5] * 1024),
    "int32_data": large(data_type=3, int32_data=[-7] * 1024),
    "double_data": large(data_type=11, double_data=[2.5] * 1024),
    "uint64_data": large(data_type=12, uint64_data=[2**31] * 1024),
    "string_data": large(data_type=8, string_data=[b"abc"] * 1024),
}


@pytest.mark.parametrize("field", LARGE)
def test_payload_is_left_out_and_its_place_known(field):
    proto = model([], [], [value("w", [1024], LARGE[field].data_type)], [LARGE[field]])
    data = proto.SerializeToString()
    stripped = strip(data)
    assert len(stripped.model) < 300
    checker.check_model(stripped.model)
    (payload,) = stripped.payloads
    assert payload.dims == (1024,)
    assert list(payload.counts) == [field]
    assert TensorProto.FromString(data[payload.message[0] : sum(payload.message)]) == LARGE[field]
    if field == "raw_data":
        assert (payload.length, data[payload.offset : payload.offset + 4096]) == (4096, bytes(4096))
    graph = read(data)
    assert graph.problems == ()
    values = graph.constants["w"].values()
    assert values is None if field == "string_data" else len(values) == 1024


def test_large_integer_lists_stay():
    indices = tensor("i", np.arange(5000, dtype=np.int64))
    stripped = strip(model([], [], [value("i", [5000], 7)], [indices]).SerializeToString())
    assert stripped.payloads == []
    assert onnx.ModelProto.FromString(stripped.model).graph.initializer[0] == indices


def test_small_model_is_copied_as_it_is():
    data = conv_model((1, 4, 1, 1)).SerializeToString()
    assert strip(data).model == data


def test_payload_in_a_constant_node_and_in_a_subgraph():
    weight = tensor("", np.ones((500, 2), np.float32))
    branch = helper.make_graph([helper.make_node("Constant", [], ["k"], value=weight)], "b", [], [value("k", None)])
    nodes = [
        helper.make_node("Constant", [], ["w"], value=weight, name="first"),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch, name="if"),
    ]
    data = model(nodes, [value("c", [], TensorProto.BOOL)], [value("y", None)]).SerializeToString()
    assert len(strip(data).model) < 800
    graph = read(data)
    assert graph.constants["w"].values() == (1.0,) * 1000
    assert graph.constants["if.then_branch/k"].shape == (500, 2)
    assert [node_at(data, node).op_type for node in graph.nodes] == ["Constant", "If", "Constant", "Constant"]


def test_training_info_is_left_out():
    proto = conv_model()
    proto.training_info.add().algorithm.CopyFrom(proto.graph)
    graph = read(proto)
    assert len(graph.nodes) == 1
    assert not onnx.ModelProto.FromString(strip(proto.SerializeToString()).model).training_info


def test_graph_in_two_parts_is_merged():
    first = conv_model()
    second = onnx.ModelProto()
    second.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    data = first.SerializeToString() + second.SerializeToString()
    graph = read(data)
    assert [node_at(data, node).op_type for node in graph.nodes] == ["Conv", "Relu"]


def test_a_doc_string_that_looks_like_a_link_is_none():
    """Links hold a random part, so that no file can have one."""
    data = conv_model().SerializeToString()
    first, second = (strip(data) for _ in range(2))
    (doc,) = {t.doc_string for t in onnx.ModelProto.FromString(first.model).graph.initializer}
    assert doc == f"{first.link}0" != f"{second.link}0"
    weight = tensor("w", np.ones((8, 4, 1, 1), np.float32))
    weight.doc_string = doc
    assert read(conv_model(initializer=weight)).constants["w"].values() == (1.0,) * 32


@settings(max_examples=draws(30), deadline=None)
@given(st.lists(st.integers(0, 3000), min_size=1, max_size=6))
def test_every_node_is_where_it_is_said_to_be(sizes):
    nodes = [
        helper.make_node(
            "Constant", [], [f"c{i}"], value=tensor("", np.zeros(n, np.float32)), doc_string="d" * (n % 300)
        )
        for i, n in enumerate(sizes)
    ]
    proto = model(nodes, [], [value("c0", None)])
    data = proto.SerializeToString()
    assert [node_at(data, node) for node in read(data).nodes] == list(proto.graph.node)


def test_weights_are_not_read(tmp_path):
    """A sparse file with 1 GiB of weights is read with the memory of the graph."""
    size = 1 << 30
    shape = [size // 4 // 9, 1, 3, 3]
    weight = TensorProto(name="w", dims=shape, data_type=1).SerializeToString()
    count = shape[0] * 9 * 4
    weight_head = weight + b"\x4a" + encode_varint(count)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="c")], "g", [value("x", [1, 1, 8, 8])], [value("y", None)]
    ).SerializeToString()
    graph_size = len(graph) + 1 + len(encode_varint(len(weight_head) + count)) + len(weight_head) + count
    head = helper.make_model(helper.make_graph([], "g", [], []), ir_version=8)
    head.ClearField("graph")
    start = head.SerializeToString() + b"\x3a" + encode_varint(graph_size) + graph
    path = tmp_path / "big.onnx"
    with path.open("wb") as file:
        file.write(start + b"\x2a" + encode_varint(len(weight_head) + count) + weight_head)
        file.truncate(file.tell() + count)
    code = (
        "import sys\n"
        "from onnxlint_cmsis.formats.onnx.load import load\n"
        "graph = load(sys.argv[1])\n"
        "print(graph.constants['w'].shape[0], graph.shape('y'), graph.constants['w'].values())\n"
    )
    # a process starts with the highest memory of the one that starts it, so a small one starts and measures
    measured = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', *sys.argv[1:]], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    command = [sys.executable, "-c", measured, code, str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    first, highest = run.stdout.splitlines()
    assert first == f"{shape[0]} (1, {shape[0]}, 6, 6) None"
    assert int(highest) * 1024 < 256 << 20


def test_unpacked_lists_are_read():
    """Protobuf allows a list of numbers as one field each."""
    body = TensorProto(name="w", dims=[600], data_type=6).SerializeToString() + b"\x28\x05" * 600
    data = model([], [], [value("w", [600], 6)]).SerializeToString()
    data += b"\x3a" + encode_varint(len(length_delimited(0x2A, body))) + length_delimited(0x2A, body)
    graph = read(data)
    assert graph.problems == ()
    assert graph.constants["w"].values() == (5,) * 600


def test_load_holds_no_file_open_for_writing(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(conv_model().SerializeToString())
    graph = load(path)
    path.replace(tmp_path / "moved.onnx")
    assert graph.constants["w"].values() == (1.0,) * 288
