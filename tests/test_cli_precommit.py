"""The pre-commit hook, run as pre-commit runs it: from a clone of the project, in an environment of its own."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
import yaml
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parent.parent
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"


def git(folder, *argv):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *argv], cwd=folder, check=True, capture_output=True)


def commit_all(folder):
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")


def clean_model():
    """A Relu: readable, and nothing to say about it."""
    shape = [1, 4, 8, 8]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


@pytest.fixture
def project(tmp_path):
    """A clone of the project as it is now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    clone = tmp_path / "project"
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


def test_the_manifest_has_the_linter_alone_and_goes_by_name():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == "onnxlint-cmsis"
    assert hook["language"] == "python"
    assert hook["entry"].split()[0] == "onnxlint-cmsis"
    assert not {"types", "types_or"} & set(hook)
    assert re.search(hook["files"], "models/a.onnx")
    assert not re.search(hook["files"], "models/a.onnx.txt")


def test_pre_commit_accepts_the_manifest():
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "models").iterdir()}


def try_repo(project, models, *files):
    """Run the hook on the files; PIP_FIND_LINKS and PIP_NO_INDEX of the caller decide where wheels come from."""
    environment = {**os.environ, "PRE_COMMIT_HOME": str(models.parent / "home"), "PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(project), "onnxlint-cmsis", "--files", *files],
        cwd=models, check=False, capture_output=True, text=True, env=environment,
    )  # fmt: skip


def test_try_repo_lints_what_is_named_onnx_and_touches_nothing(project, models):
    before = digests(models)
    done = try_repo(project, models, "models/good.onnx", "models/cut.onnx", "models/pointer.onnx", "README.md")
    report = done.stdout
    assert done.returncode == 1, done.stdout + done.stderr
    assert "exit code: 2" in report
    assert "models/cut.onnx: CNN002 error" in report
    assert "models/pointer.onnx: CNN003 error" in report
    assert "models/good.onnx: CNN" not in report
    assert "README.md" not in report
    assert "in 2 of 3 files" in report
    assert "files were modified" not in report
    assert digests(models) == before


def test_try_repo_passes_a_good_model(project, models):
    done = try_repo(project, models, "models/good.onnx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"onnxlint-cmsis\.+Passed", done.stdout)
    assert onnx.load(models / "models" / "good.onnx").graph.node[0].op_type == "Relu"
