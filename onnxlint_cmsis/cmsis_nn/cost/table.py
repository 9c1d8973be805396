"""The fitted instructions of one turn of each loop, read when first asked for."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from onnxlint_cmsis.types import Isa

COMPILER = "gcc"
"""Compiler of the measured library; nothing is said of another."""

FOLDER = Path(__file__).parent / "instructions"
"""One file `<release>-<isa>.json` for each measured build."""


@cache
def table_of(release: str, isa: Isa) -> dict[str, float] | None:
    """Instructions by piece; None where the build was not measured."""
    path = FOLDER / f"{release}-{isa.value}.json"
    if not path.exists():
        return None
    read: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["instructions"]
    return read
