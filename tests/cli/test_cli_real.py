"""The whole program on real files: the engine, every format, standard input, processes, suppressions in a model."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.config.keys import FORMATS
from support import paths
from support.sarif_validator import complaints, needs_multitool

SHARED = paths.SHARED
pytestmark = pytest.mark.usefixtures("models")
HEAVY = ("onnxruntime", "sarif_om", "tomllib", "tomli", "concurrent.futures", "hashlib", "xml.sax.saxutils", "difflib")


def conv(metadata=None):
    """A 1x1 convolution with padding, which misses the 1x1 kernel for a reason that no channel count mends."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 10, 10])
    w = helper.make_tensor("w", TensorProto.FLOAT, [8, 8, 1, 1], [0.0] * 64)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="first", pads=[1, 1, 1, 1])
    model = helper.make_model(helper.make_graph([node], "g", [x], [y], [w]), ir_version=10)
    if metadata:
        helper.set_model_props(model, metadata)
    return model


def relu():
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
    return helper.make_model(graph, ir_version=10)


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(conv(), "miss.onnx")
    onnx.save(relu(), "clean.onnx")
    Path("bad.onnx").write_bytes(b"not a model")
    Path("empty.onnx").write_bytes(b"")
    Path("cut.onnx").write_bytes(conv().SerializeToString()[:-20])
    return tmp_path


def run(capsys, *argv):
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def test_a_miss_is_found_and_explained(capsys):
    code, out, err = run(capsys, "miss.onnx", "--output-format", "json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    (finding,) = [finding for finding in report["findings"] if finding["code"] == "CNN101"]
    assert finding["level"] == "note"
    assert finding["location"]["node"] == "first"
    assert [label.split(",")[0] for label in finding["targets"]] == ["cortex-m0", "cortex-m4", "cortex-m55"]
    start, size = finding["location"]["offset"], finding["location"]["length"]
    assert onnx.NodeProto.FromString(Path("miss.onnx").read_bytes()[start : start + size]).name == "first"
    assert report["files"][0]["notes"], "a float model says what it is taken for"


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_copes_with_every_file(capsys, output_format):
    code, out, err = run(capsys, ".", "--output-format", output_format)
    assert (code, err) == (2, "")
    for name in ("bad.onnx", "empty.onnx", "cut.onnx"):
        assert name in out
    if output_format == "junit":
        assert len(ET.fromstring(out)) == 5
    elif output_format in ("json", "sarif", "gitlab"):
        json.loads(out)


def test_processes_change_nothing(capsys):
    assert run(capsys, ".", "--jobs", "2") == run(capsys, ".")


def test_standard_input_is_a_file_like_any_other(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("miss.onnx").read_bytes())))
    piped = run(capsys, "-", "--stdin-filename", "miss.onnx")
    assert piped == run(capsys, "miss.onnx")


def test_a_model_suppresses_its_own_findings(capsys, told):
    onnx.save(conv({"onnxlint-cmsis:ignore": "CNN101,CNN302 known"}), "own.onnx")
    _, out, _ = run(capsys, "own.onnx", "--output-format", "concise", "-q", "--ignore", "CNN202", "--min-level", "note")
    assert "CNN101" not in out
    told(out)


def test_layers(capsys):
    code, out, _ = run(capsys, "layers", "miss.onnx", "--target", "m4", "--target", "m55")
    assert code == 0
    lines = [line for line in out.splitlines() if line]
    assert [line for line in lines if line.startswith("cortex")] == [
        "cortex-m4, CMSIS-NN 7.0.0, gcc",
        "cortex-m55, CMSIS-NN 7.0.0, gcc",
    ]
    assert ["layer", "op", "kernel"] in [line.split()[:3] for line in lines]
    assert [line.split()[0] for line in lines].count("first") == 2
    report = json.loads(run(capsys, "layers", "miss.onnx", "--output-format", "json")[1])
    assert len(report["layers"]) == len(report["totals"]) == 3
    assert "not cycles" in report["instructions"]


def test_layers_adds_up_instructions_and_tells_what_is_left_out(capsys, told):
    _, out, _ = run(capsys, "layers", "miss.onnx", "--target", "m0", "--target", "m55")
    _, text, _ = run(capsys, "layers", "miss.onnx", "--target", "m0", "--target", "m55", "--output-format", "json")
    report = json.loads(text)
    known = [row["instructions"] for row in report["layers"]]
    assert [total["instructions"] for total in report["totals"]] == known
    measured = [total["measured_on"] for total in report["totals"]]
    assert measured == ["cortex-m0, gcc 12.2", "cortex-m55, gcc 12.2 and 13.2"]
    assert [(total["layers"], total["unknown_layers"]) for total in report["totals"]] == [(1, 0), (1, 0)]
    sums = [line for line in out.splitlines() if line.startswith("total: ")]
    assert len(sums) == 2
    assert all(f" {known[at]:,} predicted instructions" in sums[at] for at in (0, 1))
    told(out)
    _, out, _ = run(capsys, "layers", "miss.onnx", "--target", "m4", "--release", "cmsis5-5.9.0")
    assert " unknown " in next(line for line in out.splitlines() if line.startswith("first"))
    assert out.splitlines()[-2].endswith(" MACs, cost unknown")
    assert "predicted instructions" not in out
    assert "measured on" not in out


def test_layers_of_a_bad_file_is_one_line(capsys, told):
    code, out, err = run(capsys, "layers", "bad.onnx")
    assert (code, out, err.count("\n")) == (2, "", 1)
    told(err)


def test_a_lint_run_imports_only_what_it_needs():
    script = (
        "import sys; from onnxlint_cmsis.cli.main import main; main(['miss.onnx', '--isolated']);print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    bare = subprocess.run(
        [sys.executable, "-c", "import onnx, sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split()) - set(bare.stdout.split())
    assert not loaded & set(HEAVY)


@needs_multitool
def test_sarif_of_every_file_is_valid(tmp_path, capsys):
    own = ["bad.onnx", "clean.onnx", "cut.onnx", "empty.onnx", "miss.onnx"]
    paths = [str(path) for path in sorted((SHARED / "models").glob("*.onnx"))]
    (tmp_path / "out").mkdir()
    (tmp_path / "work").mkdir()
    for name, given in (*((name, [name]) for name in own), ("all", [*paths, *own])):
        run(capsys, *given, "--output-format", "sarif", "--output-file", f"out/{name}.sarif")
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) == len(own) + 1
    assert complaints(files, tmp_path / "work") == []
