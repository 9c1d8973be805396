"""Files that are no models, and what is said of them."""

from __future__ import annotations

import errno
import os

import pytest
from onnx import helper

from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.formats.onnx.wire import length_delimited
from onnxlint_cmsis.model.model_error import ModelError
from support.read_models import conv_model, model, value


def refuse(path, **options):
    with pytest.raises(ModelError) as caught:
        load(path, **options)
    return caught.value


def test_reads_a_file_by_name(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(conv_model().SerializeToString())
    graph = load(path)
    assert graph.path == str(path)
    assert [node.op_type for node in graph.nodes] == ["Conv"]


def test_missing_file(tmp_path):
    error = refuse(tmp_path / "none.onnx")
    assert error.kind == "unreadable"
    assert "No such file" in error.message


def test_file_without_permission(tmp_path, monkeypatch, told):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"x")

    def refuse_to_open(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse_to_open)
    error = refuse(path)
    assert error.kind == "unreadable"
    monkeypatch.undo()
    told(error.message)


def test_folder(tmp_path):
    error = refuse(tmp_path)
    assert (error.kind, "folder" in error.message) == ("unreadable", True)


def test_pipe_is_not_opened(tmp_path):
    path = tmp_path / "pipe.onnx"
    os.mkfifo(path)
    assert refuse(path).kind == "unreadable"


def test_name_with_a_null_byte():
    assert refuse("a\0b.onnx").kind == "unreadable"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"hello, this is text\n", "text that starts with 'hello"),
        ("größe\n".encode() * 200, "text that starts with 'größe"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (b"\x1c\0\0\0TFL3" + bytes(100), "TensorFlow Lite"),
        (b"\xff\xff\xff\xff", "not an ONNX model"),
        (b"\x08\x07", "has a graph"),
        (b"\x3a\x00", "has a graph and an IR"),
        (b"\x3b\x00\x3c", "wire type 3"),
    ],
)
def test_other_content(tmp_path, content, says):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    error = refuse(path)
    assert error.kind == "not-a-model"
    assert says in error.message


def test_lfs_pointer(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n")
    error = refuse(path)
    assert error.kind == "lfs-pointer"
    assert "12345 bytes" in error.message
    assert "git lfs pull" in error.message


@pytest.mark.parametrize("missing", [1, 30, 1000, 1100])
def test_truncated(missing, told):
    data = conv_model().SerializeToString()
    error = refuse("m.onnx", data=data[:-missing])
    assert error.kind == "not-a-model"
    told(error.message)
    assert "at byte" in error.message


def test_a_field_too_long_for_its_message_is_no_truncation(told):
    inner = b"\x0a\x7f\x00"
    error = refuse("m.onnx", data=length_delimited(0x3A, inner) + b"\x08\x08")
    told(error.message)


def nested(levels):
    """A model with `levels` If nodes inside one another; written as bytes, as protobuf refuses to build it."""
    out = value("y", [1]).SerializeToString()
    node = helper.make_node("Relu", ["x"], ["y"]).SerializeToString()
    for _ in range(levels):
        graph = length_delimited(0x0A, node) + length_delimited(0x12, b"g") + length_delimited(0x62, out)
        branch = length_delimited(0x0A, b"then_branch") + length_delimited(0x32, graph) + b"\xa0\x01\x05"
        node = helper.make_node("If", ["c"], ["y"]).SerializeToString() + length_delimited(0x2A, branch)
    shell = model([], [value("x", [1]), value("c", [], 9)], [value("y", [1])]).SerializeToString()
    return shell + length_delimited(0x3A, length_delimited(0x0A, node))


@pytest.mark.parametrize("levels", [30, 32, 34, 40, 1000])
def test_too_many_graphs_inside_one_another(levels):
    error = refuse("m.onnx", data=nested(levels))
    assert error.kind == "too-deep"
    assert "more than 30 graphs" in error.message


def test_as_many_graphs_inside_one_another_as_allowed():
    graph = load("m.onnx", data=nested(29))
    assert graph.nodes[-1].op_type == "Relu"
    assert all(node.offset > 0 for node in graph.nodes)


def test_standard_input():
    assert load("-", data=conv_model().SerializeToString()).path == "-"
