"""Texts that people see, in tests/golden; UPDATE_GOLDEN=1 writes them.

A screen is a file. Messages that differ from test to test share a file for each module of tests: `told(text)` compares
with the entry of the test, so that a sentence changes in one place. In an entry `…` stands for any text, where only a
part is asserted; one entry without `[…]` serves all parameters of a test.
"""

from __future__ import annotations

import os
import re
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
        number = "" if self._calls == 1 else f" {self._calls}"
        golden = entries(self._golden)
        shared = f"{self._test.partition('[')[0]}{number}"
        key = shared if shared in golden else f"{self._test}{number}"
        whole = texts if isinstance(texts, str) else "\n".join(texts)
        lines = (whole.replace(self._folder, "FOLDER") if self._folder else whole).splitlines()
        if os.environ.get("UPDATE_GOLDEN") and not fits(lines, golden.get(key)):
            golden = {**golden, key: lines}
            self._golden.parent.mkdir(exist_ok=True)
            write_entries(self._golden, golden)
        assert fits(lines, golden.get(key)), f"{key} in {self._golden.name} has {golden.get(key)}, not {lines}"


def fits(lines: list[str], entry: list[str] | None) -> bool:
    """Whether lines are those of an entry, in which `…` stands for any text."""
    if entry is None:
        return False
    pattern = ".*".join(map(re.escape, "\n".join(entry).split("…")))
    return re.fullmatch(pattern, "\n".join(lines), re.DOTALL) is not None


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
