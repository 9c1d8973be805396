"""Pairs of layers that were measured before and after a change of a channel count."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from onnxlint_cmsis.cmsis_nn.rows import Evidence

PAIRS = Path(__file__).parent / "measured_pairs.json"
"""Rows of lab/measure_evidence.py, and of lab/measure_legacy.py for q7 and q15."""


@cache
def measured_pairs() -> tuple[Evidence, ...]:
    """All measured pairs."""
    return tuple(Evidence(*row) for row in json.loads(PAIRS.read_text(encoding="utf-8")))
