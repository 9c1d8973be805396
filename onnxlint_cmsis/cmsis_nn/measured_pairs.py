"""Pairs of layers that were measured before and after a change of a channel count."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from onnxlint_cmsis.ground.named_tuples import NamedTuple

PAIRS = Path(__file__).parent / "measured_pairs.json"
"""Rows of lab/measure_evidence.py, and of lab/measure_legacy.py for q7 and q15."""


@cache
def measured_pairs() -> tuple[Evidence, ...]:
    """All measured pairs."""
    return tuple(Evidence(*row) for row in json.loads(PAIRS.read_text(encoding="utf-8")))


class Evidence(NamedTuple):
    """What was measured for one check and entry point on one release and instruction set."""

    rule: str
    """Kebab name of the rule."""
    entry: str
    """Entry point measured, `convolve_s8`."""
    release: str
    """CMSIS-NN release."""
    isa: str
    """Instruction set."""
    inside: bool
    """Pairs inside the check's region, or outside it."""
    pairs: int
    """Pairs measured."""
    faster: int
    """Pairs with fewer instructions after."""
    median: float
    """Median change in percent; negative is fewer instructions."""
    worst: float
    """Largest change in percent."""
