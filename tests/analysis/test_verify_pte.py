"""A `.pte` file is equal to its own bytes, and to nothing else: no runtime for hosts runs its kernels."""

from __future__ import annotations

import os

from support.pte_pairs import FALSE, RIGHT, WAYS, hunt

EXAMPLES = int(os.environ.get("ONNXLINT_EXAMPLES", "60"))
"""Pairs that are drawn."""


def test_a_program_is_equal_to_its_own_bytes_alone() -> None:
    counted = hunt([], EXAMPLES, 1)
    assert not any(counted[way, FALSE] for way in WAYS)
    assert counted["same", RIGHT] > 0
    assert sum(counted[way, RIGHT] for way in WAYS) > EXAMPLES / 4
