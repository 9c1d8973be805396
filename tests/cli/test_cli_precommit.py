"""The pre-commit hook, run as pre-commit runs it: from a clone of the project, in a new environment."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest
import yaml
from onnx import TensorProto, helper, numpy_helper

from support import paths

ROOT = paths.ROOT
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"


def git(folder, *argv):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True)


def commit_all(folder):
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")


def clean_model():
    """A pooling layer: readable, and nothing to say about it."""
    shapes = {"x": [1, 4, 8, 8], "y": [1, 4, 4, 4]}
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def dead():
    """Two 1x1 convolutions; 8 of the 20 channels between them have no weights."""
    weights = np.linspace(-1, 1, 80, dtype=np.float32).reshape(20, 4, 1, 1)
    weights[5:13] = 0
    after = np.linspace(-1, 1, 160, dtype=np.float32).reshape(8, 20, 1, 1)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], "first"),
        helper.make_node("Conv", ["h", "v"], ["y"], "second"),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 8, 8])
        for name, channels in (("x", 4), ("y", 8))
    ]
    constants = [numpy_helper.from_array(array, name) for array, name in ((weights, "w"), (after, "v"))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A clone of the project as it is now; pre-commit's store beside it has one environment for all tests."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    clone = tmp_path_factory.mktemp("pre-commit") / "project"
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "bench/")):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    commit_all(clone)
    return clone


@pytest.fixture
def models(tmp_path):
    """A user's repository with a good model, a truncated one and one that Git LFS has not fetched."""
    folder = tmp_path / "user"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "good.onnx").write_bytes(clean_model())
    (folder / "models" / "cut.onnx").write_bytes(clean_model()[:-9])
    (folder / "models" / "pointer.onnx").write_text(POINTER)
    (folder / "README.md").write_text("not a model")
    commit_all(folder)
    return folder


def test_the_manifest_has_the_linter_and_the_fixer_and_goes_by_name():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["onnxlint-cmsis", "onnxlint-cmsis-fix"]
    for hook in hooks:
        assert hook["language"] == "python"
        assert hook["entry"].split()[0] == "onnxlint-cmsis"
        assert hook["require_serial"]
        assert not {"types", "types_or"} & set(hook)
        assert re.search(hook["files"], "models/a.onnx")
        assert re.search(hook["files"], "models/a.tflite")
        assert not re.search(hook["files"], "models/a.onnx.txt")


def test_pre_commit_accepts_the_manifest():
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "models").iterdir()}


def configured(project, models):
    """The user's repository with both hooks in its configuration."""
    revision = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=project, text=True).strip()
    hooks = [{"id": "onnxlint-cmsis"}, {"id": "onnxlint-cmsis-fix", "args": ["--target", "cortex-m4"]}]
    config = {"repos": [{"repo": str(project), "rev": revision, "hooks": hooks}]}
    (models / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git(models, "add", "-A")


def pre_commit(project, models, *argv):
    """Run a hook; PIP_FIND_LINKS and PIP_NO_INDEX of the caller decide where wheels come from."""
    environment = {**os.environ, "PRE_COMMIT_HOME": str(project.parent / "home"), "PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", *argv],
        cwd=models, check=False, capture_output=True, text=True, env=environment,
    )  # fmt: skip


def test_the_hook_lints_what_is_named_onnx_and_touches_nothing(project, models):
    before = digests(models)
    configured(project, models)
    files = [f"models/{name}.onnx" for name in ("good", "cut", "pointer")]
    done = pre_commit(project, models, "onnxlint-cmsis", "--files", *files, "README.md")
    report = done.stdout
    assert done.returncode == 1, done.stdout + done.stderr
    assert "exit code: 2" in report
    assert "models/cut.onnx\n  CNN002 error" in report
    assert "models/pointer.onnx\n  CNN003 error" in report
    assert "models/good.onnx\n" not in report
    assert "README.md" not in report
    assert "in 2 of 3 files" in report
    assert "files were modified" not in report
    assert digests(models) == before


def test_the_hook_passes_a_good_model(project, models):
    configured(project, models)
    done = pre_commit(project, models, "onnxlint-cmsis", "--files", "models/good.onnx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"onnxlint-cmsis\.+Passed", done.stdout)
    assert onnx.load(models / "models" / "good.onnx").graph.node[0].op_type == "MaxPool"


def test_the_fixing_hook_fixes_fails_and_passes_the_second_time(project, models):
    """Also for a file of which one state is staged and another is in the folder."""
    model = models / "models" / "wide.onnx"
    model.write_bytes(dead())
    (models / "notes.txt").write_text("staged")
    configured(project, models)
    (models / "notes.txt").write_text("not staged")
    first = pre_commit(project, models, "onnxlint-cmsis-fix")
    assert first.returncode == 1, first.stdout + first.stderr
    assert "files were modified" in first.stdout
    assert "models/wide.onnx: fixed" in first.stdout
    fixed = model.read_bytes()
    assert len(fixed) < len(dead())
    assert (models / "notes.txt").read_text() == "not staged"
    git(models, "add", "models/wide.onnx")
    second = pre_commit(project, models, "onnxlint-cmsis-fix")
    assert second.returncode == 0, second.stdout + second.stderr
    assert model.read_bytes() == fixed

    # staged: the fixed model; in the folder: another one. The hook sees the staged one and leaves the other.
    model.write_bytes(clean_model())
    partial = pre_commit(project, models, "onnxlint-cmsis-fix")
    assert partial.returncode == 0, partial.stdout + partial.stderr
    assert model.read_bytes() == clean_model()

    # staged: a model to fix; in the folder: another one. Both changing one binary is a conflict: the fix is dropped.
    model.write_bytes(dead())
    git(models, "add", "models/wide.onnx")
    model.write_bytes(clean_model())
    conflict = pre_commit(project, models, "onnxlint-cmsis-fix")
    assert conflict.returncode == 1, conflict.stdout + conflict.stderr
    assert model.read_bytes() == clean_model()
    assert (
        subprocess.run(["git", "show", ":models/wide.onnx"], cwd=models, check=True, capture_output=True).stdout
        == dead()
    )
