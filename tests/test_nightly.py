"""What a push leaves out has something that stands for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.nightly import one_of
from support.paths import ROOT

pytest_plugins = ["pytester"]
LEFT = "@pytest.mark.nightly\ndef test_all(): pass\n"
NAMED = "@pytest.mark.nightly('test_some')\ndef test_all(): pass\n"
SOME = "def test_some(): pass\n"
CASES = "@pytest.mark.parametrize('case', {})\ndef test_cases(case): pass\n"


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        (LEFT + SOME, "names no test"),
        (NAMED, "names no test"),
        (NAMED + LEFT.replace("all", "some"), "names no test"),
        (CASES.format("[pytest.param(case, marks=pytest.mark.nightly) for case in range(3)]"), "all its cases"),
        (NAMED + SOME, ""),
        (CASES.format("one_of(2, range(3))"), ""),
    ],
)
def test_a_mark_without_a_sibling_ends_the_collection(pytester: pytest.Pytester, source: str, wrong: str) -> None:
    pytester.makeconftest((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers = nightly\n")
    pytester.makepyfile(f"import pytest\nfrom support.nightly import one_of\n{source}")
    done = pytester.runpytest_inprocess("--collect-only", "-m", "not nightly")
    assert wrong in done.stdout.str() + done.stderr.str()
    assert (done.ret == pytest.ExitCode.OK) == (not wrong)


def test_one_of_some_cases_is_run_at_a_push() -> None:
    first, *rest = one_of(3, [("a", 1), ("b", 2), pytest.param("c", 3, id="third"), ("d", 4)])
    assert first == ("a", 1)
    assert [(case.values, case.id, [mark.name for mark in case.marks]) for case in rest[:2]] == [
        (("b", 2), None, ["nightly"]),
        (("c", 3), "third", ["nightly"]),
    ]
    assert rest[2] == ("d", 4)


def reached(paths: list[Path]) -> set[Path]:
    """Files of the project that some files import, and that those import."""
    folders = [ROOT, ROOT / "tests", ROOT / "lab", ROOT / "scripts"]
    seen: set[Path] = set()
    while paths:
        seen |= {*paths}
        names: set[str] = set()
        for node in (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        stems = [folder.joinpath(*name.split(".")) for folder in folders for name in names]
        modules = [file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")]
        paths = [file for file in modules if file.is_file() and file not in seen]
    return seen


def test_kernels_are_tested_without_what_stands_above_them() -> None:
    """So that a push which changes nothing of what they reach may leave their tests out."""
    files = reached([*(ROOT / "tests" / "cmsis_nn").glob("*.py")])
    package = ROOT / "onnxlint_cmsis"
    rooms = {path.relative_to(package).parts[0] for path in files if path.is_relative_to(package)}
    assert rooms == {"cmsis_nn", "ground"}
    others = {path.relative_to(ROOT).parts[0] for path in files if not path.is_relative_to(package)}
    assert others == {"tests", "lab"}
    command = (
        (ROOT / ".ci" / "run")
        .read_text(encoding="utf-8")
        .partition("\nif ! changed .ci lab ")[2]
        .partition("; then")[0]
    )
    assert {"onnxlint_cmsis/cmsis_nn", "onnxlint_cmsis/ground", "tests/cmsis_nn", "tests/support"} <= {*command.split()}


def test_only_a_push_leaves_them_out() -> None:
    assert "not nightly" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for path in (ROOT / "scripts" / "test.sh", *(ROOT / ".github" / "workflows").iterdir()):
        assert "not nightly" not in path.read_text(encoding="utf-8"), path
