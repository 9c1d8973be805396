"""What a process does before the command line is looked at."""

from __future__ import annotations

import os

import pytest

from onnxlint_cmsis import __main__ as start


@pytest.mark.parametrize(
    ("given", "threads"),
    [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "2"}, None)],
)
def test_a_run_starts_no_threads_of_openblas_unless_asked(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], threads: str | None
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    monkeypatch.setattr(os, "_exit", lambda _code: None)
    monkeypatch.setattr(start.gc, "set_threshold", lambda _number: None)
    monkeypatch.setattr(start, "main", lambda _argv: 0)
    start.run()
    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads
