"""Texts that people see, in tests/golden; UPDATE_GOLDEN=1 writes them.

A screen is a file. Messages that differ from test to test share a file for each module of tests: `told(text)` compares
with the entry of the test, so that a sentence changes in one place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from support.paths import GOLDEN


def check_golden(name: str, text: str) -> None:
    """Compare a text with its golden file."""
    golden = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


class Told:
    """What one test is told, entry by entry in the file of its module; its folder is called FOLDER there."""

    def __init__(self, module: str, test: str, folder: str) -> None:
        self._golden, self._test, self._folder = GOLDEN / "texts" / f"{module.removeprefix('test_')}.txt", test, folder
        self._calls = 0

    def __call__(self, texts: str | Iterable[str]) -> None:
        """Compare a text, or lines, with the next entry of the test."""
        self._calls += 1
        key = self._test if self._calls == 1 else f"{self._test} {self._calls}"
        whole = texts if isinstance(texts, str) else "\n".join(texts)
        lines = (whole.replace(self._folder, "FOLDER") if self._folder else whole).splitlines()
        if os.environ.get("UPDATE_GOLDEN"):
            self._golden.parent.mkdir(exist_ok=True)
            write_entries(self._golden, {**entries(self._golden), key: lines})
        assert lines == entries(self._golden).get(key)


def entries(golden: Path) -> dict[str, list[str]]:
    """Lines of each test: its name stands at the margin, what it is told is indented."""
    told: dict[str, list[str]] = {}
    for line in golden.read_text(encoding="utf-8").splitlines() if golden.exists() else ():
        if line.startswith("    ") or not line:
            told[[*told][-1]].append(line[4:])
        else:
            told[line] = []
    return told


def write_entries(golden: Path, told: dict[str, list[str]]) -> None:
    """Write the entries in the order of their names."""
    lines = [line for key in sorted(told) for line in (key, *(f"    {text}" if text else "" for text in told[key]))]
    golden.write_text("\n".join(lines) + "\n", encoding="utf-8")
