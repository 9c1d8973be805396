"""Files of one operator: nothing contradicts a verdict, in PyPI's `tflite-micro` and LiteRT's reference kernels."""

from __future__ import annotations

from collections import Counter

import pytest

from support.tflm_zoo import FORMS, animals

OPS = ("ADD", "GATHER_ND", "GREATER", "SPACE_TO_BATCH_ND", "SPLIT", "TANH", "DYNAMIC_UPDATE_SLICE", "MAXIMUM")
"""Operators on which a verdict was once contradicted."""


@pytest.mark.parametrize("op", OPS)
def test_nothing_contradicts_a_verdict(op: str) -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    seen = [*animals(5, 300, [op])]
    assert [(animal.seed, animal.form, animal.contradiction) for animal in seen if animal.contradiction] == []
    told = Counter((animal.form, animal.wrong) for animal in seen)
    assert told[FORMS[2], True]
    assert any(animal.equal for animal in seen)
