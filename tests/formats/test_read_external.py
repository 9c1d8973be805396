"""External data: found beside the model, refused elsewhere, read only for small values."""

from __future__ import annotations

import math
import os

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from onnxlint_cmsis.cli.api import fix, lint
from onnxlint_cmsis.formats.onnx.load import load
from support.dims_graphs import Builder
from support.fixable_models import dead
from support.read_models import conv_model, only, texts
from support.resizable_models import qdq_model


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
    problem = only(graph, "external")
    assert says in problem or location == "x" * 5000
    assert "`w`" in problem
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


def test_a_link_is_one_problem_however_many_tensors_lie_behind_it(tmp_path, told):
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
    told(problem.message)


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


def save(model, folder):
    """A model with all its tensors in `w.bin`."""
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)


def test_a_link_inside_the_folder_is_followed(tmp_path):
    """The findings are those of the same data without a link."""
    codes = []
    for link in (False, True):
        folder = tmp_path / str(link)
        folder.mkdir()
        save(qdq_model(bias=True), folder)
        if link:
            (folder / "sub").mkdir()
            (folder / "w.bin").rename(folder / "sub" / "real.bin")
            (folder / "w.bin").symlink_to("sub/real.bin")
        result = lint(folder / "m.onnx", min_level="note")
        codes.append([(finding.code, finding.message) for finding in result.findings])
    assert codes[0] == codes[1]


@pytest.mark.parametrize("kind", ["name", "link", "hard link", "other model", "link to another model"])
def test_data_in_a_model_are_refused(tmp_path, kind):
    """A fix writes a model anew, and values in it would be others from then on."""
    save(qdq_model(bias=True), tmp_path)
    (tmp_path / "b.tflite").write_bytes(bytes(5000))
    (tmp_path / "w.bin").unlink()
    model = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        tensor.external_data[0].value = {"name": "m.onnx", "other model": "b.tflite"}.get(kind, "w.bin")
    model.doc_string = "x" * 5000
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    if kind == "link":
        (tmp_path / "w.bin").symlink_to("m.onnx")
    elif kind == "hard link":
        os.link(tmp_path / "m.onnx", tmp_path / "w.bin")
    elif kind == "link to another model":
        (tmp_path / "w.bin").symlink_to("b.tflite")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (finding,) = [finding for finding in lint(tmp_path / "m.onnx").findings if finding.code == "CNN006"]
    assert "a fix" in finding.message
    fixed = fix(tmp_path / "m.onnx", write=True, fix_policy="align", align=16, min_gain=0)
    assert not fixed.written
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_nothing_is_called_computed_that_lies_in_data_which_are_not_read(tmp_path):
    """A scale behind a link out of the folder is fixed in the file, though its value is not known here."""
    folder = tmp_path / "model"
    folder.mkdir()
    save(qdq_model(bias=True), folder)
    (folder / "w.bin").rename(tmp_path / "w.bin")
    (folder / "w.bin").symlink_to(tmp_path / "w.bin")
    result = lint(folder / "m.onnx", min_level="note")
    assert {finding.code for finding in result.findings} == {"CNN005", "CNN006"}
    assert "run time" not in " ".join(finding.message for finding in result.findings)


def test_a_fix_leaves_data_alone_that_two_tensors_share(tmp_path):
    """What a fix changes becomes part of the model; ranges that overlap stay what they are for the other tensor."""
    model = onnx.load_from_string(dead())
    weights = {
        initializer.name: numpy_helper.to_array(initializer).tobytes() for initializer in model.graph.initializer
    }
    blob = weights["c0"] + weights["c2"]
    for tensor in model.graph.initializer:
        if tensor.name == "c3":  # a bias that lies in the bytes of the weights
            weights["c3"] = blob[: len(weights["c3"])]
        offset = blob.index(weights[tensor.name]) if weights[tensor.name] in blob else len(blob)
        blob += b"" if offset < len(blob) else weights[tensor.name]
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = tensor.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", offset), ("length", len(weights[tensor.name]))):
            tensor.external_data.add(key=key, value=str(value))
    (tmp_path / "w.bin").write_bytes(blob)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    before = outputs(tmp_path / "m.onnx")
    fixed = fix(tmp_path / "m.onnx", write=True)
    assert fixed.written
    assert (tmp_path / "w.bin").read_bytes() == blob
    assert np.allclose(outputs(tmp_path / "m.onnx"), before, rtol=0, atol=1e-6)  # sums in another order


def outputs(path):
    """What ONNX Runtime computes of one input."""
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    numbers = np.linspace(-1, 1, math.prod(given.shape), dtype=np.float32)
    return session.run(None, {given.name: numbers.reshape(given.shape)})[0]
