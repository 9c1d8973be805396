"""Searches that end early say so, while linting and while fixing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.engine import lint_file
from onnxlint_cmsis.cli.file_fix import fix_file
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.fixers.planning.problem import SearchWork
from support.fixable_models import dead

LIMITS = [
    (
        "onnxlint_cmsis.fixers.planning.planning_input.SearchWork",
        partial(SearchWork, 0),
        "the search for sizes ended early",
    ),
    ("onnxlint_cmsis.analysis.known_view.MAX_KNOWN", 0, "the search for dead channels ended early"),
]


@pytest.mark.parametrize(("limit", "stand_in", "clause"), LIMITS)
def test_a_search_that_ends_early_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, stand_in: object, clause: str
) -> None:
    path = str(tmp_path / "dead.onnx")
    Path(path).write_bytes(dead())
    settings = make_settings(path)
    assert not any("ended early" in note for note in lint_file(path, settings).notes)
    monkeypatch.setattr(limit, stand_in)
    linted, fixed = lint_file(path, settings), fix_file(path, settings, write=False).result
    assert any(note.startswith(clause.capitalize()) for note in linted.notes)
    assert fixed is not None
    assert any(note.startswith(clause) for note in fixed.notes)
