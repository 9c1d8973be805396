"""`scripts/size.py`: what counts as a line of code, and what a room is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import size

SOURCE = '''"""A docstring
of two lines."""

import os  # a comment behind code


# a comment
def answer() -> str:
    """Another docstring."""
    return """a text
    of two lines"""


LIMIT = 3
"""What a constant is."""
'''


def test_docstrings_comments_and_blanks_are_no_code() -> None:
    lines = ("import", "def", "return", "of two lines", "LIMIT")
    assert size.size(SOURCE) == size.Size(files=1, lines=15, code=len(lines))


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("onnxlint_cmsis/checks/rules/conv_1x1.py", "onnxlint_cmsis/checks"),
        ("onnxlint_cmsis/__main__.py", "onnxlint_cmsis"),
        ("tests/checks/test_rules.py", "tests"),
    ],
)
def test_a_room_is_a_folder_of_the_package(path: str, room: str) -> None:
    assert size.room(path) == room


def test_an_older_commit_may_lack_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(SOURCE, encoding="utf-8")
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(size, "ROOT", tmp_path)
    assert size.rooms("HEAD") == {"tests": size.size(SOURCE)}


def test_no_change_is_told_as_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    sizes = {"tests": size.Size(2, 30, 20), "onnxlint_cmsis/checks": size.Size(1, 10, 5)}
    older = {"tests": size.Size(1, 25, 21)}
    monkeypatch.setattr(size, "rooms", lambda commit: dict(older if commit else sizes))
    monkeypatch.setattr(sys, "argv", ["size.py", str(tmp_path)])
    size.main()
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "2 (+1)" in rows["tests"]
    assert "20 (-1)" in rows["tests"]
    assert "10 (+10)" in rows["onnxlint_cmsis/checks"]
