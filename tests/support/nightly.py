"""Cases that a push leaves out, and what it runs in their place.

`.ci/run` leaves out what is marked `nightly`; `scripts/test.sh` runs it, and so does every workflow. Nothing is marked
without a sibling on the same code that a push runs: other cases of the test, or a test that the mark names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

MARK = "nightly"


def one_of(every: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters of a test, all but one of so many marked as nightly. A case with several values is a tuple."""
    return [case if number % every == 0 else _left(case) for number, case in enumerate(cases)]


def _left(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.nightly])
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.nightly)


def without_sibling(metafunc: pytest.Metafunc) -> str:
    """What is wrong with the marks of a test; empty where a push runs something in its place."""
    for mark in metafunc.definition.iter_markers(MARK):
        sibling = getattr(metafunc.module, str((mark.args or ("",))[0]), None)
        marks = getattr(sibling, "pytestmark", [])
        if sibling is None or sibling is metafunc.function or any(other.name == MARK for other in marks):
            return "its mark names no test of this file that a push runs: nightly(NAME)"
    for parameters in metafunc.definition.iter_markers("parametrize"):
        cases = list(parameters.args[1]) if len(parameters.args) > 1 else []
        left = [case for case in cases if any(mark.name == MARK for mark in getattr(case, "marks", ()))]
        if left and len(left) == len(cases):
            return "all its cases are nightly"
    return ""
