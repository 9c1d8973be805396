"""Places that tests read from."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
DATA = TESTS / "data"
GOLDEN = TESTS / "golden"
SHARED = ROOT.parent / "shared"
"""Models and vectors beside the project; tests that need them are skipped where it is missing."""
