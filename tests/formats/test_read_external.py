"""External data: found beside the model, refused elsewhere, read only for small values."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from onnxlint_cmsis.formats.onnx_graph.load import load
from support.dims_graphs import Builder
from support.read_models import conv_model, only, texts


def external(location, shape=(8, 4, 3, 3), name="w", **entries):
    tensor = TensorProto(name=name, data_type=1, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in ({"location": location} | entries).items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def write(folder, location, size=1152, **entries):
    """A model with an external weight, and a file of `size` bytes beside it."""
    path = folder / "m.onnx"
    path.write_bytes(conv_model(initializer=external(location, **entries)).SerializeToString())
    if size is not None:
        (folder / "w.bin").write_bytes(np.arange(size // 4, dtype=np.float32).tobytes())
    return path


def test_values_beside_the_model(tmp_path):
    graph = load(write(tmp_path, "w.bin", 1200, offset=16, length=1152))
    assert graph.problems == ()
    assert graph.shape("y") == (1, 8, 6, 6)
    assert graph.constants["w"].values() == tuple(float(i) for i in range(4, 292))


def test_values_without_offset_and_length(tmp_path):
    assert load(write(tmp_path, "w.bin")).constants["w"].values()[-1] == 287.0


def test_agrees_with_onnx_on_files_it_writes(tmp_path):
    path = tmp_path / "m.onnx"
    proto = conv_model()
    onnx.save_model(proto, path, save_as_external_data=True, location="weights.data", size_threshold=0)
    graph = load(path)
    assert graph.problems == ()
    assert graph.constants["w"].values() == (1.0,) * 288


def test_large_values_are_not_read(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(conv_model(initializer=external("big.bin", (65536, 4, 3, 3))).SerializeToString())
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(65536 * 36 * 4)
    graph = load(path)
    assert graph.problems == ()
    assert graph.constants["w"].values() is None
    assert graph.shape("y") == (1, 65536, 6, 6)


@pytest.mark.parametrize(
    ("location", "says"),
    [
        ("../w.bin", "without `..`"),
        ("a/../../w.bin", "without `..`"),
        ("a\\..\\w.bin", "without `..`"),
        ("/etc/passwd", "absolute path"),
        ("C:\\w.bin", "absolute path"),
        ("", "have no location"),
        ("none.bin", "not a file beside the model"),
        ("folder", "not a file beside the model"),
        ("w\0.bin", "without `..`"),
        ("x" * 5000, "have the path"),
    ],
)
def test_refused_locations(tmp_path, location, says):
    (tmp_path / "folder").mkdir()
    graph = load(write(tmp_path, location))
    found = only(graph, "external")
    assert says in found or location == "x" * 5000
    assert "`w`" in found
    assert texts(graph) == []
    assert graph.constants["w"].values() is None
    assert graph.shape("y") == (1, 8, 6, 6)


def test_links_are_refused(tmp_path):
    outside = tmp_path / "secret.bin"
    outside.write_bytes(bytes(1152))
    folder = tmp_path / "model"
    folder.mkdir()
    path = write(folder, "link.bin", None)
    (folder / "link.bin").symlink_to(outside)
    graph = load(path)
    assert "symbolic link" in only(graph, "external")
    assert graph.constants["w"].values() is None


def test_a_link_is_one_problem_however_many_tensors_lie_behind_it(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    build = Builder()
    data = build.conv(build.input("x", 1, 4, 8, 8), 4, 8)
    onnx.save(build.model(build.conv(data, 8, 4)), folder / "m.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    (folder / "w.bin").rename(tmp_path / "w.bin")
    (folder / "w.bin").symlink_to(tmp_path / "w.bin")
    graph = load(folder / "m.onnx")
    assert len(graph.constants) > 1
    (problem,) = graph.problems
    assert problem.message == "external data have the path 'w.bin', which is a symbolic link; links are not followed"


def test_links_among_the_folders_are_refused(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "w.bin").write_bytes(bytes(1152))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "sub").symlink_to(tmp_path / "outside")
    assert "symbolic link" in only(load(write(folder, "sub/w.bin")), "external")


def test_the_model_itself_may_be_in_a_linked_folder(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    write(real, "w.bin")
    (tmp_path / "linked").symlink_to(real)
    assert load(tmp_path / "linked" / "m.onnx").problems == ()


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"offset": 4}, "bytes 4 to 1156 of 'w.bin', which has 1152"),
        ({"offset": 0, "length": 1150}, "have 1150 bytes; float32 [8, 4, 3, 3] takes 1152"),
        ({"offset": -1}, "offset '-1'"),
        ({"length": "many"}, "length 'many'"),
        ({"offset": 10**30}, "offset"),
    ],
)
def test_ranges_that_do_not_fit(tmp_path, entries, says):
    assert says in only(load(write(tmp_path, "w.bin", **entries)), "external")


def test_standard_input_is_nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path, "absent.bin").read_bytes()
    assert texts(load("-", data=data), "external") == []
    data = write(tmp_path, "../absent.bin").read_bytes()
    assert "without `..`" in only(load("-", data=data), "external")


def test_data_under_another_name_has_its_folder(tmp_path):
    data = write(tmp_path, "w.bin").read_bytes()
    assert load(tmp_path / "m.onnx", data=data).problems == ()
    assert "not a file" in only(load("elsewhere/m.onnx", data=data), "external")
