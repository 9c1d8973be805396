"""What the pages say that a reader types and sees."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper

import measure_evidence
from export_tutorial import KEPT, program
from onnxlint_cmsis.cmsis_nn.library import measured_pairs
from support import doc_pages, paths
from support.nightly import one_of

PAGES = [paths.ROOT / "README.md", *sorted((paths.ROOT / "docs").glob("*.md"))]
CONSOLES = [path for path in PAGES if "```console\n" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", CONSOLES, ids=lambda path: path.stem)
def test_every_command_of_a_page_prints_what_the_page_shows(path: Path, tmp_path: Path) -> None:
    differences = doc_pages.run_page(path, tmp_path)
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("path", CONSOLES, ids=lambda path: path.stem)
def test_no_block_of_a_page_is_left_out(path: Path) -> None:
    blocks = doc_pages.blocks(path.read_text(encoding="utf-8"))
    assert any(block.language == "console" for block in blocks)
    missing = sorted({need for block in blocks for need in block.missing})
    if missing:
        pytest.skip(f"{path.name} was run without the blocks that need {', '.join(missing)}")


def test_the_exported_model_is_that_of_the_tutorials_program() -> None:
    """Whoever changes the program exports anew: scripts/export_tutorial.py."""
    origin = json.loads((KEPT / "activity.json").read_text(encoding="utf-8"))
    assert hashlib.sha256(program().encode()).hexdigest() == origin["program"]
    assert hashlib.sha256((KEPT / "activity.onnx").read_bytes()).hexdigest() == origin["model"]
    model = onnx.load(KEPT / "activity.onnx")
    assert (model.producer_name, model.producer_version.partition("+")[0]) == ("pytorch", origin["torch"])


@pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch, to export the tutorial's model anew")
def test_pytorch_exports_the_same_model_today(tmp_path: Path) -> None:
    (tmp_path / "activity.py").write_text(program(), encoding="utf-8")
    subprocess.run([sys.executable, "activity.py"], cwd=tmp_path, check=True, capture_output=True)
    fresh, kept = onnx.load(tmp_path / "activity.onnx"), onnx.load(KEPT / "activity.onnx")
    assert [(node.op_type, node.input, node.output, list(node.attribute)) for node in fresh.graph.node] == [
        (node.op_type, node.input, node.output, list(node.attribute)) for node in kept.graph.node
    ]
    weights = [
        {initializer.name: numpy_helper.to_array(initializer).tolist() for initializer in exported.graph.initializer}
        for exported in (fresh, kept)
    ]
    assert weights[0] == weights[1]


PAGE = """
```python title="seven.py"
print(7)
```
<!-- needs: a-program-nobody-has, otherwise NOTICE -->
```console
$ touch run
```

```console
$ python seven.py \\
    && echo $COLUMNS
{first}
80
$ ls NOTICE run 2>&1 | sort; exit 3
NOTICE
ls: cannot access ...: No such file or directory
exit code 3
```
"""


def run(tmp_path: Path, name: str, page: str) -> list[str]:
    path, folder = tmp_path / f"{name}.md", tmp_path / name
    path.write_text(page, encoding="utf-8")
    folder.mkdir()
    return doc_pages.run_page(path, folder)


def test_a_page_is_run_as_it_is_read(tmp_path: Path) -> None:
    assert run(tmp_path, "right", PAGE.replace("{first}", "7")) == []


def test_an_output_that_differs_is_told_and_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [told] = run(tmp_path, "wrong", PAGE.replace("{first}", "8"))
    assert told.endswith("has\n8\n80\n--- it prints\n7\n80\n")
    monkeypatch.setenv("UPDATE_DOCS", "1")
    run(tmp_path, "renewed", PAGE.replace("{first}", "8"))
    assert (tmp_path / "renewed.md").read_text(encoding="utf-8") == PAGE.replace("{first}", "7")
    shutil.rmtree(tmp_path / "renewed")
    assert run(tmp_path, "renewed", (tmp_path / "renewed.md").read_text(encoding="utf-8")) == []


def test_three_dots_stand_for_lines_or_for_a_part_of_a_line() -> None:
    assert doc_pages.matches("a\n...\nz\n", "a\nb\nc\nz\n")
    assert doc_pages.matches("a ... z\n", "a b c z\n")
    assert not doc_pages.matches("a ... z\n", "a\nz\n")
    assert not doc_pages.matches("a.b\n", "a-b\n")
    assert not doc_pages.matches("", "something\n")


VECTORS = paths.SHARED / "vectors" / "cost"


@pytest.mark.skipif(not VECTORS.exists(), reason="needs the cost vectors in a folder `shared` beside the project")
@pytest.mark.parametrize("file", one_of(5, range(18)))
def test_the_evidence_table_is_what_the_vectors_say(file: int) -> None:
    files = [*measure_evidence.files(VECTORS)]
    assert len(files) == 18
    path = files[file]
    fresh = [*measure_evidence.rows(path)]
    rules, target = {row.rule for row in fresh}, measure_evidence.target_of(path)
    build = (target.release, target.isa.value)
    kept = [row for row in measured_pairs() if row.rule in rules and (row.release, row.isa) == build]
    assert sorted(fresh) == sorted(kept) != []


def test_the_lowest_versions_are_the_same_everywhere() -> None:
    project = (paths.ROOT / "pyproject.toml").read_text()
    lowest = dict(re.findall(r'^ +"([\w-]+)>=([\d.]+)', project, re.MULTILINE))
    lowest |= dict(re.findall(r'^(requires-python) = ">=([\d.]+)"$', project, re.MULTILINE))
    lowest |= dict(re.findall(r'^tflite = \["(ai-edge-litert)>=([\d.]+)"\]$', project, re.MULTILINE))
    onnx, runtime, numpy, python = (lowest[name] for name in ("onnx", "onnxruntime", "numpy", "requires-python"))
    page = (paths.ROOT / "docs/contributing.md").read_text()
    _, _, table = page.partition("## The lowest versions\n")
    rows = re.findall(
        r"^\| ([A-Z][\w ]+|[a-z-]+) ([\d.]+) (?:\([^|]+\) )?\| ", table.partition("\n## ")[0], re.MULTILINE
    )
    names = {"Python": "requires-python", "ONNX Runtime": "onnxruntime", "NumPy": "numpy", "LiteRT": "ai-edge-litert"}
    assert len(rows) >= 4
    assert {names.get(name, name): version for name, version in rows}.items() <= lowest.items()
    readme = " ".join((paths.ROOT / "README.md").read_text().split())
    for needed in (f"onnx {onnx}", f"ONNX Runtime {runtime}", f"NumPy {numpy}"):
        assert f"{needed}, " in readme or f"{needed} and" in readme
    for text in (readme, (paths.ROOT / "docs/index.md").read_text(), (paths.ROOT / "docs/tutorial.md").read_text()):
        assert f"Python {python} or" in text
    job = (paths.ROOT / ".github/workflows/tests.yml").read_text().partition("\n  minimum-versions:\n")[2]
    assert re.findall(r'python-version: "([\d.]+)"|run: (.+)', job)[:2] == [
        (python, ""),
        ("", "sh scripts/test_minimum.sh"),
    ]
    assert f'target-version = "py{python.replace(".", "")}"' in project
    assert f'python_version = "{python}"' in project
