"""A revision of TensorFlow Lite Micro is added by its row and the day on the row of a kernel that changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onnxlint_cmsis.checks.run_checks import code_of
from support.goldens import Told
from support.quantized_models import Qdq
from support.tflite_models import one_operator, tensor
from support.tflite_writer import write
from support.tree_copy import copy_folder

NEWEST = '    TflmRevision(NEWEST, "2026-07-01", _PIN_2026_06, NEWEST),\n'
NEW = '    TflmRevision("5ca1ab1e" * 5, "2027-01-15", _PIN_2026_06, NEWEST),\n'
CHECK = 'Row(":309", HALTS_INVOKE, early_scratch, "", PER_CHANNEL_DENSE, cause='
ENDED = 'Row(":309", HALTS_INVOKE, early_scratch, "", PER_CHANNEL_DENSE, "2027-01-15", cause='
FOLDERS = ("onnxlint_cmsis", "firmware_check", "scripts", "docs", "tests/data")


def contents(tree: Path) -> dict[str, bytes]:
    """Every file of a tree by its path."""
    files = (path for path in tree.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in files}


def run(tree: Path, *arguments: str) -> str:
    """What a command prints that runs in a copy of the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    ).stdout


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A copy of the tree with the new revision, and the files that differ."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        copy_folder(folder, tree)
    before = contents(tree)
    tflm = tree / "onnxlint_cmsis" / "runtimes" / "tflm"
    for file, old, new in ((tflm / "revisions.py", NEWEST, NEWEST + NEW), (tflm / "dense.py", CHECK, ENDED)):
        source = file.read_text(encoding="utf-8")
        assert source.count(old) == 1, file
        file.write_text(source.replace(old, new), encoding="utf-8")
    run(tree, "scripts/make_docs.py")
    after = contents(tree)
    return tree, {name for name in {*before, *after} if before.get(name) != after.get(name)}


def test_a_revision_is_a_row_and_a_day(changed: tuple[Path, set[str]], told: Told) -> None:
    tree, files = changed
    rows = {"onnxlint_cmsis/runtimes/tflm/revisions.py", "onnxlint_cmsis/runtimes/tflm/dense.py"}
    assert files == {*rows, "docs/runtimes.md"}
    page = (tree / "docs" / "runtimes.md").read_text(encoding="utf-8")
    told(page)


@pytest.mark.parametrize("suffix", ["onnx", "tflite"])
def test_files_of_both_formats_are_judged_by_the_row(changed: tuple[Path, set[str]], suffix: str, told: Told) -> None:
    """A dense layer of three dimensions halts a build with checks, until the revision that ends the check."""
    tree, _ = changed
    model = tree / f"dense.{suffix}"
    if suffix == "onnx":
        softmax = Qdq((1, 3, 8))
        built = softmax.layer("MatMul", softmax.weights("w", (8, 3), axis=1)).rounded(0.2).model()
        model.write_bytes(built.SerializeToString())
    else:
        weights = tensor("w", [8, 16], buffer=1)
        ends = (tensor("x", [1, 4, 16]), weights, tensor("y", [1, 4, 8]))
        buffers = [{}, {"data": np.zeros(128, np.int8).tolist()}]
        model.write_bytes(
            write(one_operator("FULLY_CONNECTED", [*ends], ("FullyConnectedOptions", {}), buffers=buffers))
        )
    stops = code_of("refused")
    lint = ("-m", "onnxlint_cmsis", "--isolated", "--output-format", "concise", "--min-level", "note")
    before, since = (run(tree, *lint, "--runtime", f"tflm@{day}", model.name) for day in ("2026-12", "2027-02"))
    assert stops in before
    assert "fully_connected.cc:309" in before
    assert stops not in since
    named = run(tree, "-m", "onnxlint_cmsis", "--isolated", "-v", "--runtime", "tflm@2027-02", model.name)
    told(" ".join(named.split()))
