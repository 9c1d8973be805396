"""A model that makes ONNX Runtime end its process is left, and takes nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxlint_cmsis.ground.workers import Ended, team
from support import paths
from support.dims_graphs import Builder
from support.fix_command import run, text
from support.fixable_models import head, int8_weights, wide_stem

ROOT = paths.ROOT
ALIGN = ("--fix-policy", "align", "--target", "cortex-m4")
STAND_IN = """
import importlib, os, sys
sys.path.remove(os.path.dirname(os.path.dirname(__file__)))
del sys.modules["onnxruntime"]
real = importlib.import_module("onnxruntime")
make = real.InferenceSession
def ending(model, *rest, **named):
    if b"ends the process" in model:
        os.abort()
    return make(model, *rest, **named)
real.InferenceSession = ending
"""
"""An `onnxruntime` that ends its process over some models and is the real one otherwise."""
CANNOT = "nothing is proven: its process ended with exit code"
if os.name == "posix":
    CANNOT = "nothing can be proven: ONNX Runtime ended its process with SIGABRT"


def written(path, model):
    path.write_bytes(model.SerializeToString())
    return path.read_bytes()


def plain():
    build = Builder()
    return build.model(head(build, wide_stem(build)))


@pytest.fixture
def stand_in(tmp_path):
    package = tmp_path / "stand_in" / "onnxruntime"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)
    return package.parent


@pytest.fixture
def folder(tmp_path):
    """Four models, the second and third of which end the process."""
    models = tmp_path / "models"
    models.mkdir()
    for name in ("a", "b", "c", "d"):
        model = plain()
        model.producer_name = "ends the process" if name in "bc" else "none"
        written(models / f"{name}.onnx", model)
    return models


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_a_model_that_ends_the_process_is_left_with_its_findings_and_all_others_are_fixed(folder, stand_in, jobs):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = run(folder, "--fix", "--jobs", jobs, "--output-format", "concise", *ALIGN, ".", path=[stand_in])
    assert done.returncode == 2, done.stderr
    assert b"internal error" not in done.stderr
    assert [name for name in "abcd" if f"{name}.onnx: not fixed: {CANNOT}" in text(done)] == ["b", "c"]
    assert [name for name in "abcd" if f"{name}.onnx: CNN201" in text(done)] == ["b", "c"]
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(name for name in after if after[name] != before[name]) == ["a.onnx", "d.onnx"]
    assert after.keys() == before.keys()


@pytest.mark.parametrize("mode", ["--diff", "--fix-only"])
def test_a_model_that_ends_the_process_is_told_where_findings_are_not_asked_for(folder, stand_in, mode):
    done = run(folder, mode, *ALIGN, "b.onnx", "d.onnx", path=[stand_in])
    assert done.returncode == 2, done.stderr
    assert f"b.onnx: not fixed: {CANNOT}" in text(done)
    assert "1 of 2 files" in text(done)
    assert "CNN201" not in text(done)


def captured_twice():
    """A Slice of a quantized input that the main graph and both branches read; some ONNX Runtimes end over it."""
    build = Builder(13)
    scale, zero = build.const(0.1, np.float32), build.const(3, np.int8)
    value = build.op("QuantizeLinear", build.input("x", "N", 3, 6, 6), scale, zero)
    value = build.op("DequantizeLinear", value, scale, zero)
    value = build.op("Slice", value, build.ints(0), build.ints(2), build.ints(1))
    high = build.op("Greater", build.op("ReduceMax", value, keepdims=0), build.const(0.5, np.float32))
    branches = []
    for name in ("then", "else"):
        conv = helper.make_node("Conv", [value, build.weights(6, 2, 1, 1)], [f"{name}_out"], name)
        branches.append(helper.make_graph([conv], name, [], [helper.make_tensor_value_info(f"{name}_out", 1, None)]))
    value = build.op("If", high, then_branch=branches[0], else_branch=branches[1])
    value = build.op("DequantizeLinear", build.op("QuantizeLinear", value, scale, zero), scale, zero)
    value = build.op("Conv", value, int8_weights(build, 2, 6, 1, 1))
    model = build.model(build.op("QuantizeLinear", value, scale, zero))
    for output in model.graph.output:
        output.type.tensor_type.elem_type = onnx.TensorProto.INT8
    return model


def test_a_slice_behind_dequantizelinear_that_branches_read_ends_no_run(tmp_path):
    data = written(tmp_path / "a.onnx", captured_twice())
    other = written(tmp_path / "b.onnx", plain())
    ort = "import onnxruntime, sys; onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
    ends = subprocess.run([sys.executable, "-c", ort, "a.onnx"], cwd=tmp_path, check=False, capture_output=True)
    done = run(tmp_path, "--fix", *ALIGN, "a.onnx", "b.onnx")
    assert (tmp_path / "b.onnx").read_bytes() != other
    assert "No findings in" not in text(done)
    if ends.returncode < 0:
        assert done.returncode == 2, done.stderr
        assert f"a.onnx: not fixed: {CANNOT}" in text(done)
        assert (tmp_path / "a.onnx").read_bytes() == data


def test_a_worker_tells_how_its_process_ended_and_starts_another():
    with team(1) as (worker,):
        worker.give(abs, -2)
        assert worker.take() == 2
        worker.give(os._exit, 3)
        assert worker.take() == Ended("with exit code 3", frozenset())
        worker.give(abs, -4)
        assert worker.take() == 4
