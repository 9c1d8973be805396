"""Fields of `.tflite` files changed one at a time: what is called equal computes the same in LiteRT."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from support.tflite_fields import DIFFERS, EQUAL, REFUSED, changed, told
from support.tflite_steps import as_converted, random_chain

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES", "60"))
"""Changes of each file."""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_changed_field_is_refused_or_changes_nothing(seed: int) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    data = as_converted(seed) if seed == 1 else random_chain(seed, wide=seed == 3)
    counted: Counter[str] = Counter()
    for number in range(EXAMPLES):
        change = changed(data, random.Random(f"{seed} {number}"))
        if change is not None and change.data != data:
            end = told(data, change, number)
            assert end != DIFFERS, (change.field, number)
            counted[end] += 1
    assert counted[EQUAL] > EXAMPLES // 12
    assert counted[REFUSED] > EXAMPLES // 12
