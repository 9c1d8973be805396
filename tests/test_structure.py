"""The shape of the code: which package may import which, what a lint run loads, what the docs say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support.paths import ROOT, SHARED

PACKAGE = ROOT / "onnxlint_cmsis"

FLOOR = {
    "named_tuples": -2,
    "errors": -1,
    "types": -1,
    "version": -1,
    "findings": 0,
    "apart": 1,
    "atomic": 1,
    "bounded_reading": -1,
    "git_repository": 0,
    "cmsis_nn": 1,
    "graph": 1,
    "results": 2,
    "algebra": 2,
    "operators": 3,
    "formats": 4,
    "dims": 5,
    "lower": 5,
    "runtimes": 6,
    "analysis": 7,
    "memory": 7,
    "coverage": 8,
    "checks": 8,
    "q_formats": 8,
    "tflite_analysis": 8,
    "config": 9,
    "open_model": 9,
    "planning": 9,
    "reporters": 9,
    "accepted": 10,
    "rewrite": 11,
    "proof": 11,
    "tflite_files": 12,
    "fixers": 12,
    "layer_rows": 12,
    "layer_formats_rows": 12,
    "size_search": 12,
    "engine": 13,
    "layers_report": 13,
    "comparison": 14,
    "fleet": 14,
    "html_report": 15,
    "commands": 16,
    "api": 17,
    "cli": 17,
    "__main__": 18,
}
"""A module may import from its own room and from lower floors; rooms on one floor know nothing of each other."""

TWINS = ({"cmsis_nn", "graph"}, {"cmsis_nn", "formats"}, {"cmsis_nn", "dims"})
"""Pairs that never meet: geometry knows nothing of CMSIS-NN, and CMSIS-NN nothing of ONNX."""


def room(path: Path) -> str:
    """Package, or module at the top level."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Rooms that a module imports, anywhere in it: in functions and for type checking too."""
    return {name.split(".")[1] for name in imported(path) if name.startswith("onnxlint_cmsis.")}


def imported(path: Path) -> set[str]:
    """Dotted names that a module imports, anywhere in it; `from a import b` gives `a.b`, be `b` a file or not."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_no_import_runs_upward() -> None:
    for path in MODULES:
        here = room(path)
        if here == "__init__":  # it offers names of many rooms, loads them late, and no room imports it
            continue
        for there in imports(path) - {here}:
            assert FLOOR[there] < FLOOR[here], f"{path} imports {there}"
            assert {here, there} not in TWINS, f"{path} imports {there}"


def test_no_room_imports_the_package_as_a_whole() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "onnxlint_cmsis":
                assert {name.name for name in node.names} <= FLOOR.keys(), path


SOURCES = [*MODULES, *sorted((ROOT / "firmware_check").rglob("*.py"))]


def test_no_circle_between_files() -> None:
    """Each file stands after those it imports, in whatever way; a package is its `__init__.py`."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES}
    graph = {name: files_behind(imported(path), names) - {name} for name, path in names.items()}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def files_behind(found: set[str], names: Mapping[str, Path]) -> set[str]:
    """Which of the files imported names are, or are defined in."""
    return {name if name in names else name.rpartition(".")[0] for name in found} & names.keys()


@pytest.mark.parametrize("package", ["onnxlint_cmsis", "firmware_check"])
def test_no_two_files_of_a_package_have_one_name(package: str) -> None:
    files = (path.name for path in sorted((ROOT / package).rglob("*.py")))
    assert repeated(name for name in files if name not in ("__init__.py", "__main__.py")) == []


def test_no_two_public_classes_have_one_name() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES)
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert repeated(name for name in names if not name.startswith("_")) == []


def repeated(names: Iterable[str]) -> list[str]:
    """Names that come more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def test_every_room_has_a_floor() -> None:
    assert {room(path) for path in MODULES} == {"__init__", *FLOOR}


def test_the_package_never_imports_what_stands_outside() -> None:
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert "firmware_check" not in text
        assert "import tests" not in text


def test_the_firmware_check_stands_on_the_package_alone() -> None:
    for path in sorted((ROOT / "firmware_check").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"tests", "scripts", "bench"}, path


def test_only_reading_and_fixing_touch_protobufs() -> None:
    for path in MODULES:
        if room(path) not in ("formats", "rewrite", "proof"):
            assert "import onnx\n" not in path.read_text(encoding="utf-8"), path
            assert "from onnx " not in path.read_text(encoding="utf-8"), path


def test_linting_loads_only_what_it_needs(tmp_path: Path) -> None:
    from support.models import one_node

    model = tmp_path / "m.onnx"
    model.write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString())
    sizing = tuple(f"onnxlint_cmsis.{module}" for module in ("dims.walk", "dims.lanes"))
    unwanted = ("onnxruntime", "sarif_om", "onnxlint_cmsis.dims.new_lanes", "onnxlint_cmsis.fixers", *sizing)
    code = (
        "import sys; from onnxlint_cmsis.cli import main; main(sys.argv[1:]); "
        f"print([name for name in {unwanted} if name in sys.modules])"
    )

    def loaded(*options: str) -> str:
        command = [sys.executable, "-c", code, "--isolated", *options, str(model)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]

    assert loaded("--size-checks-limit", "0") == "[]"
    assert loaded("--ignore", "CNN201,CNN202") == "[]"
    assert loaded() == str(list(sizing))


def test_named_tuples_are_the_cheap_ones() -> None:
    for path in MODULES:
        if room(path) != "named_tuples":
            assert "typing.NamedTuple" not in imported(path), path


def test_lanes_are_found_without_running_anything() -> None:
    code = (
        "import sys; import onnxlint_cmsis.dims.lanes, onnxlint_cmsis.formats.onnx_graph.arrays; "
        "print([name for name in sys.modules if name.startswith(('onnxruntime', 'onnx.reference'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_docs_are_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/make_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not SHARED.exists(), reason="needs the cost vectors in a folder `shared` beside the project")
def test_the_evidence_table_is_what_the_vectors_say() -> None:
    script = [sys.executable, "scripts/measure_evidence.py", str(SHARED / "vectors" / "cost"), "--check"]
    assert subprocess.run(script, cwd=ROOT, check=False).returncode == 0


OPERATORS_ELSEWHERE = {
    "runtimes/tflite_names.py": None,  # what another format calls them
    "graph/model.py": {"Constant"},  # a Constant node's value is stored in the file as an initializer is
}
"""Files and folders outside `operators` and `lower` that may name operators, and which; None for any."""


def operator_names(path: Path) -> set[str]:
    """String literals of a module that are names of operators in the registry."""
    from onnxlint_cmsis.operators.registry import OPERATORS

    known = {name for _, name in OPERATORS}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if set(text.split()) & known and set(text.split()) <= known}


def test_operators_are_named_in_their_records_and_where_they_are_lowered_alone() -> None:
    used = set()
    for path in MODULES:
        if room(path) in ("operators", "lower"):
            continue
        place = path.relative_to(PACKAGE).as_posix()
        home = next((one for one in OPERATORS_ELSEWHERE if place == one or place.startswith(f"{one}/")), "")
        used.add(home)
        allowed = OPERATORS_ELSEWHERE.get(home, set())
        assert allowed is None or operator_names(path) <= allowed, place
    assert used >= OPERATORS_ELSEWHERE.keys()


OPERATORS_IN_FIRMWARE = {
    "reading/table.py": "one row for each operator that becomes a layer",
    "reading/lookups.py": "the function of real numbers of each operator that becomes a table",
}
"""Files of the firmware check beside its templates that name operators, and what for."""


def test_the_firmware_check_names_operators_in_its_tables_alone() -> None:
    folder = ROOT / "firmware_check"
    naming = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if operator_names(path)}
    assert naming == OPERATORS_IN_FIRMWARE.keys()


CODE = re.compile(r"CNN\d{3}")


def test_no_rule_code_is_written_outside_the_file_of_its_rule() -> None:
    """Codes stand in the row of their rule; documentation, which the docstrings of rules are, may refer to others."""
    rules = PACKAGE / "checks" / "rules"
    for path in [*MODULES, *(ROOT / "firmware_check").rglob("*.py"), *(ROOT / "scripts").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        docs = ast.get_docstring(ast.parse(text), clean=False) if path.parent == rules else None
        written = CODE.findall(text.replace(docs, "") if docs else text)
        assert len(written) == (path.parent == rules and path.name != "__init__.py"), path


def test_a_file_of_a_rule_knows_no_other_code_but_its_own() -> None:
    from onnxlint_cmsis.checks.rule_registry import MODULES as NAMES
    from onnxlint_cmsis.checks.rule_registry import RULES

    files = {path.stem: path for path in (PACKAGE / "checks" / "rules").glob("[!_]*.py")}
    assert files.keys() == set(NAMES)
    for name, rule in zip(NAMES, RULES, strict=True):
        assert f'code="{rule.code}"' in files[name].read_text(encoding="utf-8")


def test_the_lowest_versions_are_the_same_everywhere() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    lowest = dict(re.findall(r'^ +"([\w-]+)>=([\d.]+)', project, re.MULTILINE))
    lowest |= dict(re.findall(r'^(requires-python) = ">=([\d.]+)"$', project, re.MULTILINE))
    lowest |= dict(re.findall(r'^tflite = \["(ai-edge-litert)>=([\d.]+)"\]$', project, re.MULTILINE))
    onnx, runtime, numpy, python = (lowest[name] for name in ("onnx", "onnxruntime", "numpy", "requires-python"))
    page = (ROOT / "docs/contributing.md").read_text()
    _, _, table = page.partition("## The lowest versions\n")
    rows = re.findall(
        r"^\| ([A-Z][\w ]+|[a-z-]+) ([\d.]+) (?:\([^|]+\) )?\| ", table.partition("\n## ")[0], re.MULTILINE
    )
    names = {"Python": "requires-python", "ONNX Runtime": "onnxruntime", "NumPy": "numpy", "LiteRT": "ai-edge-litert"}
    assert {names.get(name, name): version for name, version in rows} == lowest
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"onnx {onnx}, ONNX Runtime {runtime} and NumPy {numpy}, or newer" in readme
    for text in (readme, (ROOT / "docs/index.md").read_text(), (ROOT / "docs/tutorial.md").read_text()):
        assert f"Python {python} or" in text
    job = (ROOT / ".github/workflows/tests.yml").read_text().partition("\n  minimum-versions:\n")[2]
    assert re.findall(r'python-version: "([\d.]+)"|run: (.+)', job)[:2] == [
        (python, ""),
        ("", "sh scripts/test_minimum.sh"),
    ]
    assert f'target-version = "py{python.replace(".", "")}"' in project
    assert f'python_version = "{python}"' in project
