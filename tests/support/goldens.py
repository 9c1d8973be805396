"""Texts that people see, whole, in tests/golden; UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import os

from support.paths import GOLDEN


def check_golden(name: str, text: str) -> None:
    """Compare a text with its golden file."""
    golden = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
