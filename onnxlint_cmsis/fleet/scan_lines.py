"""The output of a scan without `--out`: a line for each model, as soon as it is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnxlint_cmsis.cli.terminal import tell
from onnxlint_cmsis.fleet.scan_rows import FILE, ScanRow

WIDTH = len("RUNS, without CMSIS-NN")
"""Columns of the longest verdict."""
HEAD = f"{'verdict':<{WIDTH}}  errors  warnings  model"
LOCAL = "file://"


class ModelLines:
    """Lines on standard output."""

    def __init__(self) -> None:
        self._begun = False

    def add(self, rows: Sequence[ScanRow]) -> None:
        """Write the line of each model among the rows: its worst verdict, or its status where it has none."""
        here = f"{LOCAL}{Path.cwd().as_posix()}/"
        for file in rows:
            if file.kind != FILE:
                continue
            levels = [row.level for row in rows if row.url == file.url and row.kind != FILE]
            url = file.url.removeprefix(here).removeprefix(LOCAL)
            if not self._begun:
                tell(HEAD)
            self._begun = True
            counts = f"{levels.count('error'):>6}  {levels.count('warning'):>8}" if file.verdict else " " * 16
            why = f": {file.message}" if file.message else ""
            tell(f"{file.verdict or file.status:<{WIDTH}}  {counts}  {url}{why}")
