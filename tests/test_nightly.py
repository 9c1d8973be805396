"""What a push leaves out has something that stands for it."""

from __future__ import annotations

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


def test_only_a_push_leaves_them_out() -> None:
    assert "not nightly" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for path in (ROOT / "scripts" / "test.sh", *(ROOT / ".github" / "workflows").iterdir()):
        assert "not nightly" not in path.read_text(encoding="utf-8"), path
