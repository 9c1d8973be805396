"""A format is added by a folder and a row: search, settings, lint, layers, memory and the API know it at once."""

from __future__ import annotations

import json

import pytest

from support.goldens import Told
from support.tree_copy import TreeCopy

TABLE = "onnxlint_cmsis/formats/format.py"
ROW = """TOY = Format("toy", ".toy", "formats.toy.read:load_toy", "toy", "formats.toy.names:NAMES", mark=b"TOY1")
FORMATS = (ONNX, TFLITE, PTE, BPTE, TOY)
"""
NAMES = '''"""Names of its operators."""

from onnxlint_cmsis.operators.record import alias
from onnxlint_cmsis.formats.onnx.names import OPERATORS

NAMES = {"same": alias("same", "toy", OPERATORS["", "Identity"])}
'''
READER = '''"""A text: `toy TOY1`, then a line for each convolution: outputs, inputs, rows and columns."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from onnxlint_cmsis.model.graph import Constant, Graph, Node, Tensor
from onnxlint_cmsis.model.model_error import ModelError
from onnxlint_cmsis.model.leftovers import Leftovers


class LoadedToy(NamedTuple):
    graph: Graph

    def reader(self) -> Callable:
        return lambda key: weights(self.graph.constants[key].shape) if key in self.graph.constants else None

    def digest(self) -> None:
        return None

    def leftovers(self) -> Leftovers:
        return Leftovers()

    def computed_sizes(self) -> dict:
        return {}


def weights(shape):
    """Ones, and zeros for the last four outputs."""
    found = np.ones(shape, np.float32)
    found[-4:] = 0
    return found


def load_toy(path, *, input_shapes=None, data=None):
    lines = (Path(path).read_bytes() if data is None else data).decode().splitlines()
    if lines[:1] != ["toy TOY1"]:
        raise ModelError("unreadable", "the first line is not `toy TOY1`")
    nodes, tensors, constants = [], {}, {}
    for number, line in enumerate(lines[1:]):
        outputs, inputs, rows, columns = map(int, line.split())
        data, weights, result = f"t{number}", f"w{number}", f"t{number + 1}"
        tensors.setdefault(data, Tensor(data, "float32", (1, inputs, rows, columns)))
        tensors[weights] = Tensor(weights, "float32", (outputs, inputs, 1, 1))
        tensors[result] = Tensor(result, "float32", (1, outputs, rows, columns))
        constants[weights] = Constant(weights, "float32", (outputs, inputs, 1, 1), lambda: None)
        same = f"s{number}"
        tensors[same] = tensors[data]
        nodes.append(Node(2 * number, f"same{number}", "same", "toy", 1, (data,), (same,)))
        nodes.append(Node(2 * number + 1, f"conv{number}", "Conv", "", 13, (same, weights), (result,)))
    producers = {node.outputs[0]: node for node in nodes}
    consumers = {name: (node,) for node in nodes for name in node.inputs}
    ends = ("t0",), (f"t{len(nodes) // 2}",)
    return LoadedToy(Graph(path, tuple(nodes), tensors, constants, *ends, producers, consumers))
'''
MODEL = "toy TOY1\n32 4 8 8\n10 32 8 8\n"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> TreeCopy:
    """The copy with the format, and a folder with a model of it."""
    copy = TreeCopy(tmp_path_factory.mktemp("tree"))
    copy.replace(TABLE, "FORMATS = (ONNX, TFLITE, PTE, BPTE)\n", ROW)
    (copy.folder / "onnxlint_cmsis/formats/toy").mkdir()
    (copy.folder / "onnxlint_cmsis/formats/toy/__init__.py").touch()
    (copy.folder / "onnxlint_cmsis/formats/toy/names.py").write_text(NAMES)
    (copy.folder / "onnxlint_cmsis/formats/toy/read.py").write_text(READER)
    (copy.folder / "models").mkdir()
    (copy.folder / "models" / "a.TOY").write_text(MODEL)
    return copy


def answer(tree: TreeCopy, *arguments: str, text: str = "") -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    done = tree.python("-m", "onnxlint_cmsis", *arguments, text=text)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


LINT = ("--isolated", "--target", "cortex-m55", "--output-format", "json", "--min-level", "note")


def test_a_search_finds_its_files_and_a_lint_tells_of_their_layers_and_sizes(tree: TreeCopy) -> None:
    code, out, _ = answer(tree, *LINT, "models")
    (file,) = json.loads(out)["files"]
    assert code == 1
    assert file["path"] == "models/a.TOY"
    assert file["summary"]["targets"][0]["cmsis_nn"]["layers"] == 2
    findings = json.loads(out)["findings"]
    assert [(finding["code"], finding["location"]["node"]) for finding in findings] == [
        ("CNN202", "conv0"),
        ("CNN202", "conv1"),
    ]
    assert not any(finding["properties"].get("fixable") for finding in findings)


def test_standard_input_and_bytes_are_told_by_name_and_mark(tree: TreeCopy) -> None:
    code, out, _ = answer(tree, *LINT, "--stdin-filename", "b.toy", "-", text=MODEL)
    assert (code, json.loads(out)["files"][0]["summary"]["targets"][0]["cmsis_nn"]["layers"]) == (1, 2)
    script = (
        f"from onnxlint_cmsis.cli import api; print(len(api.layers({MODEL.encode()!r}, targets=['cortex-m4']).rows))"
    )
    assert tree.python("-c", script).stdout == "2\n"


def test_other_commands_show_it(tree: TreeCopy) -> None:
    rows = json.loads(answer(tree, "layers", "--target", "m55", "--output-format", "json", "models/a.TOY")[1])
    assert [row["entry"] for row in rows["layers"]] == ["convolve_s8", "convolve_s8"]
    memory = json.loads(answer(tree, "memory", "--target", "m55", "--output-format", "json", "models/a.TOY")[1])
    assert memory["targets"][0]["arena_used"] >= 32 * 64
    code, out, _ = answer(tree, "compare", "models/a.TOY", "models/a.TOY", "--target", "m55")
    assert (code, "Traceback" in out) == (0, False)


def test_a_fix_says_that_nothing_writes_it(tree: TreeCopy, told: Told) -> None:
    for option in ("--diff", "--fix-only"):
        code, out, _ = answer(tree, "--isolated", option, "--target", "m55", "--output-format", "json", "models/a.TOY")
        fix = json.loads(out)["files"][0]["fix"]
        told(fix["reason"])
        assert (code, fix["changed"]) == (2 if option == "--fix-only" else 0, False)
    assert (tree.folder / "models" / "a.TOY").read_text() == MODEL


def test_a_file_that_cannot_be_read_is_a_finding(tree: TreeCopy, told: Told) -> None:
    code, out, _ = answer(tree, *LINT, "--stdin-filename", "b.toy", "-", text="something else")
    assert code == 2
    told(finding["message"] for finding in json.loads(out)["findings"])
