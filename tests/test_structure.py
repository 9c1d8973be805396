"""The shape of the code: which package may import which, what a lint run loads, what the docs say."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from onnxlint_cmsis.fixers.proof.models import MISSING
from onnxlint_cmsis.formats.format import FORMATS, Format, part
from onnxlint_cmsis.planning.repairable import REPAIRS
from support.models import one_node
from support.paths import ROOT, SHARED
from support.repairable_models import convolution
from support.tflite_models import conv_model
from support.tflite_writer import write

PACKAGE = ROOT / "onnxlint_cmsis"

ROOMS = (
    "ground", "cmsis_nn", "model", "operators", "formats", "lower", "runtimes", "analysis", "checks", "config",
    "planning", "fixers", "linting", "output", "cli", "api", "fleet", "__main__",
)  # fmt: skip
"""From the ground up: a file may import from its room and from those below it."""

TWINS = ({"cmsis_nn", "model"}, {"cmsis_nn", "operators"}, {"cmsis_nn", "formats"})
"""Pairs that never meet: geometry knows nothing of CMSIS-NN, and CMSIS-NN nothing of ONNX."""

READ_WITH_PROTOBUF = ("formats/", "fixers/edits/", "fixers/repairs/", "fixers/proof/")
"""Where ONNX's own classes are used."""


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
            assert ROOMS.index(there) < ROOMS.index(here), f"{path} imports {there}"
            assert {here, there} not in TWINS, f"{path} imports {there}"


FACE = ("library", "releases", "rows", "conditions", "time", "json_records")
"""Modules of cmsis_nn that other rooms import: what a call does, and the words for it; the tables lie behind."""
NAMED = re.compile(
    r"\barm_[a-z]\w+|\b(convolve|depthwise|transpose_conv|fully_connected|batch_matmul|avgpool|max_pool|softmax|"
    r"elementwise_(add|mul)|maximum|minimum|pad|transpose|svdf|lstm_unidirectional|concatenation|reshape|relu|activation)"
    r"(_s8|_s16|_s4|_q7|_q15)+\b"
)
"""A function of CMSIS-NN, or an entry point."""
RELEASE = re.compile(r"(\d\.\d\.\d|cmsis5-\d\.\d\.\d|main)")
TYPES_OF_2018 = re.compile(r"\bq(7|15|7q15)\b|_q(7|15)\b")
TEXTS_AND_ROWS: Mapping[str, set[str]] = {
    "functions": {
        "checks/rules/conv_1x1.py", "checks/rules/conv_1x1_fast.py", "checks/rules/conv_1xn.py",
        "checks/rules/conv_legacy_fast.py", "checks/rules/conv_s16_fast.py", "checks/rules/conv_s4_even.py",
        "checks/rules/depthwise_3x3.py", "checks/rules/depthwise_multiplier_tile.py", "checks/rules/depthwise_opt.py",
        "checks/rules/depthwise_s16_fast.py", "checks/rules/depthwise_to_conv.py",
        "checks/rules/transpose_conv_reversed.py", "cli/route_command.py", "lower/checks.py", "lower/elementwise.py",
        "lower/lowering.py", "lower/spatial.py", "lower/work.py", "runtimes/conditions.py", "runtimes/runtime.py",
        "runtimes/tflm/kernels.py", "runtimes/tflm/revisions.py",
    },
    "releases": {"runtimes/runtime.py", "runtimes/tflm/revisions.py"},
    "q7": {
        "analysis/memory.py", "analysis/q_formats.py", "checks/rules/conv_legacy_fast.py", "config/settings.py",
        "lower/lowering.py", "lower/work.py",
    },
}  # fmt: skip
"""Files outside cmsis_nn with such a name in code: rows on one kernel, messages, facts about runtimes. They only
become fewer."""


def test_no_other_room_looks_behind_the_face_of_cmsis_nn() -> None:
    for path in MODULES:
        if room(path) != "cmsis_nn":
            behind = {name.split(".")[2] for name in imported(path) if name.startswith("onnxlint_cmsis.cmsis_nn.")}
            assert behind <= {*FACE}, path


FLEET_USES = {
    "fleet", "ground", "analysis.analysis", "analysis.results", "cli.options", "config.settings",
    "formats.format", "formats.onnx", "linting.engine", "model.graph", "output.plain",
}  # fmt: skip
"""Rooms and modules that a scan imports. They only become fewer: in the end it is the public API."""


def test_a_scan_uses_what_it_has_used_and_nobody_uses_it() -> None:
    for path in MODULES:
        own = {name.removeprefix("onnxlint_cmsis.") for name in imported(path) if name.startswith("onnxlint_cmsis.")}
        if room(path) != "fleet":
            assert not any(name.startswith("fleet.") for name in own), path
        else:
            used = {name if name in FLEET_USES else ".".join(name.split(".")[:2]) for name in own}
            assert {name if name in FLEET_USES else name.split(".")[0] for name in used} <= FLEET_USES, path


def test_no_more_files_name_functions_and_releases_of_cmsis_nn() -> None:
    found: dict[str, set[str]] = {name: set() for name in TEXTS_AND_ROWS}
    for path in MODULES:
        if room(path) == "cmsis_nn":
            continue
        name, texts = path.relative_to(PACKAGE).as_posix(), strings(path)
        found["functions"] |= {name for text in texts if NAMED.search(text)}
        found["releases"] |= {name for text in texts if RELEASE.fullmatch(text)} - {
            "ground/version.py",
            "output/sarif.py",
        }
        found["q7"] |= {name for text in texts if TYPES_OF_2018.search(text)}
    assert found == TEXTS_AND_ROWS


def strings(path: Path) -> list[str]:
    """Texts in the code of a file, docstrings excluded."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in docs]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_room_imports_the_package_as_a_whole() -> None:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "onnxlint_cmsis":
                assert {name.name for name in node.names} <= set(ROOMS), path


SOURCES = [*MODULES, *sorted((ROOT / "firmware_check").rglob("*.py"))]


ASK_FOR_A_FORMAT = (
    "onnxlint_cmsis/analysis/analysis.py", "onnxlint_cmsis/api.py", "onnxlint_cmsis/cli/lint_command.py",
    "onnxlint_cmsis/cli/memory_command.py", "onnxlint_cmsis/fleet/scan_command.py", "onnxlint_cmsis/config/files.py",
    "onnxlint_cmsis/fixers/proof/models.py", "firmware_check/opening.py",
    "firmware_check/session.py",
)  # fmt: skip
"""Doors at which a format is found from a name or from bytes; behind them the format is handed on."""


def test_only_formats_and_doors_ask_what_kind_of_file_it_is() -> None:
    for path in SOURCES:
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        asks = re.search(r"(?<!def )\b(format_of|marked_format)\(", text) is not None
        assert asks == (name in ASK_FOR_A_FORMAT), name
        if not name.startswith("onnxlint_cmsis/formats/"):
            assert not re.search(r"is_tflite|[\"']\.(onnx|tflite)[\"']|b\"TFL3\"", text), name


@pytest.mark.parametrize("form", FORMATS, ids=[form.name for form in FORMATS])
def test_what_a_format_names_is_there(form: Format) -> None:
    assert callable(part(form.loads))
    assert not form.names or all(row.domain == form.domain for row in part(form.names).values())
    assert bool(form.interpreter) == bool(form.interpretation)
    assert not form.interpretation or callable(part(form.interpretation))
    assert part(form.prover).missing() in ("", MISSING)
    every = tuple(row.name for row in REPAIRS)
    assert {*part(form.editor).repairs} == {*(every if form.repairs is None else form.repairs)} <= {*every}


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


def test_every_file_is_in_a_room() -> None:
    assert {room(path) for path in MODULES} == {"__init__", *ROOMS}


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
            assert not {name.split(".")[0] for name in names} & {"tests", "scripts", "lab", "bench"}, path


def test_only_reading_and_fixing_touch_protobufs() -> None:
    for path in MODULES:
        if not path.relative_to(PACKAGE).as_posix().startswith(READ_WITH_PROTOBUF):
            assert "import onnx\n" not in path.read_text(encoding="utf-8"), path
            assert "from onnx " not in path.read_text(encoding="utf-8"), path


def loaded_by_lint(model: Path, *options: str) -> set[str]:
    """Modules that linting one file loads, as a process that does nothing else."""
    code = (
        "import sys; from onnxlint_cmsis.cli.main import main; main(sys.argv[1:]); "
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "--isolated", *options, str(model)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def test_sizes_are_searched_only_where_a_rule_on_sizes_runs(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString())
    sizing = {"onnxlint_cmsis.analysis.lanes", "onnxlint_cmsis.planning.solve"}
    assert not loaded_by_lint(model, "--size-checks-limit", "0") & sizing
    assert not loaded_by_lint(model, "--ignore", "CNN201,CNN202") & sizing
    assert loaded_by_lint(model) >= sizing


WRITING = ("onnxlint_cmsis.fixers", "onnxruntime", "ai_edge_litert", "sarif_om")
"""What writes, repairs and proves, and what a proof or another format of output needs."""


SOUND: Mapping[str, Callable[[], bytes]] = {
    "float.onnx": lambda: one_node("Conv", [1, 8, 9, 9], {"w": (4, 8, 3, 3)}).SerializeToString(),
    "qdq.onnx": lambda: convolution((1, 8, 6, 6), (8, 8, 3, 3)).SerializeToString(),
    "conv.tflite": lambda: write(conv_model()),
}
"""Models that no repair fits."""
MOST_MODULES = 170
"""Modules of the package that linting one of them may load."""


@pytest.mark.parametrize("name", SOUND)
def test_linting_a_model_without_anything_to_repair_loads_no_fixer(tmp_path: Path, name: str) -> None:
    model = tmp_path / name
    model.write_bytes(SOUND[name]())
    loaded = loaded_by_lint(model)
    assert not [module for module in loaded if module.startswith(WRITING)]
    ours = [module for module in loaded if module.partition(".")[0] == PACKAGE.name]
    print(f"{name}: {len(ours)} modules")
    assert len(ours) <= MOST_MODULES


def test_trying_a_repair_while_linting_loads_no_proof(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(convolution((1, 8, 6, 6), (8, 4, 3, 3), bias=False, group=2).SerializeToString())
    loaded = loaded_by_lint(model)
    assert "onnxlint_cmsis.fixers.rewriting" in loaded
    assert not [module for module in loaded if module.startswith(("onnxlint_cmsis.fixers.proof", "onnxruntime"))]


def test_lanes_are_found_without_running_anything() -> None:
    code = (
        "import sys; import onnxlint_cmsis.analysis.lanes, onnxlint_cmsis.formats.onnx.load; "
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
    script = [sys.executable, "lab/measure_evidence.py", str(SHARED / "vectors" / "cost"), "--check"]
    assert subprocess.run(script, cwd=ROOT, check=False).returncode == 0


def test_a_file_of_a_rule_knows_no_other_code_but_its_own() -> None:
    from onnxlint_cmsis.checks.rule_registry import MODULES as NAMES
    from onnxlint_cmsis.checks.rule_registry import every_rule

    files = {path.stem: path for path in (PACKAGE / "checks" / "rules").glob("[!_]*.py")}
    assert files.keys() == {name for names in NAMES.values() for name in names}
    for rule in every_rule():
        assert f'code="{rule.code}"' in files[rule.name.replace("-", "_")].read_text(encoding="utf-8")


def test_rules_that_a_fix_answers_look_at_what_a_lint_loads() -> None:
    from onnxlint_cmsis.checks.rule_registry import acting_rules, every_rule

    assert acting_rules() == tuple(rule for rule in every_rule() if rule.action)


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
