"""Files of one operator: nothing contradicts a verdict, in PyPI's `tflite-micro` and LiteRT's reference kernels."""

from __future__ import annotations

import pytest

from support.tflm_zoo import FORMS, animals

OPS = ("ADD", "GATHER_ND", "GREATER", "SPACE_TO_BATCH_ND", "SPLIT", "TANH", "DYNAMIC_UPDATE_SLICE", "MAXIMUM", "GATHER")
"""Operators on which a verdict was once contradicted."""


@pytest.mark.parametrize("op", OPS)
def test_nothing_contradicts_a_verdict(op: str) -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    seen = [*animals(5, 300, [op])]
    assert [(animal.seed, animal.form, animal.contradiction) for animal in seen if animal.contradiction] == []
    assert any(animal.wrong or animal.report.status != "ok" for animal in seen if animal.form == FORMS[2])
    assert any(animal.equal for animal in seen)


@pytest.mark.parametrize(("op", "seed"), [("PRELU", 501), ("MEAN", 503), ("MUL", 403)])
def test_a_result_of_another_type_than_the_kernel_writes_is_wrong(op: str, seed: int) -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    drawn = next(animals(1, seed, [op]))
    assert (drawn.wrong, drawn.equal) == (True, False)
