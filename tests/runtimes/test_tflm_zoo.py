"""Files of one operator: nothing contradicts a verdict, in PyPI's `tflite-micro` and LiteRT's reference kernels."""

from __future__ import annotations

import pytest

from support.tflm_zoo import FORMS, animals

OPS = ("ADD", "GATHER_ND", "GREATER", "SPACE_TO_BATCH_ND", "SPLIT", "TANH", "DYNAMIC_UPDATE_SLICE", "MAXIMUM", "GATHER")
"""Operators on which a verdict was once contradicted."""

UNCHECKED = (
    *("DYNAMIC_UPDATE_SLICE", "EQUAL", "EXPAND_DIMS", "FLOOR", "GATHER", "GATHER_ND", "GREATER", "GREATER_EQUAL"),
    *("LESS", "LESS_EQUAL", "LOGICAL_AND", "LOGICAL_OR", "MAXIMUM", "MEAN", "MINIMUM", "MUL", "NEG", "NOT_EQUAL"),
    *("PRELU", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SELECT_V2", "SPLIT", "SPLIT_V", "SQUARED_DIFFERENCE"),
    *("UNPACK", "ZEROS_LIKE"),
)
"""Operators whose kernels do not ask whether the output has the type that they write."""


@pytest.mark.parametrize("op", OPS)
def test_nothing_contradicts_a_verdict(op: str) -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    seen = [*animals(5, 300, [op])]
    assert [(animal.seed, animal.form, animal.contradiction) for animal in seen if animal.contradiction] == []
    assert any(animal.wrong or animal.report.status != "ok" for animal in seen if animal.form == FORMS[2])
    assert any(animal.equal for animal in seen)


def test_a_result_of_another_type_than_the_kernel_writes_is_wrong() -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    seen = [*animals(6, 8200, UNCHECKED, ["another type"])]
    assert [(animal.op, animal.seed, animal.contradiction) for animal in seen if animal.contradiction] == []
    assert {animal.op for animal in seen if animal.wrong} == {*UNCHECKED}
    assert sum(animal.equal is False for animal in seen if animal.wrong) > len(UNCHECKED)


@pytest.mark.parametrize(("op", "seed"), [("SPLIT", 11), ("SPLIT_V", 115)])
def test_an_axis_of_fewer_bytes_than_the_kernel_reads_is_undecided(op: str, seed: int) -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    (drawn,) = animals(1, seed, [op], FORMS[:1])
    assert (drawn.report.status, drawn.device.outcome) == ("undecided", "refuses")
    assert "has 2 bytes; 4 are read" in drawn.report.operators[0].reason


@pytest.mark.parametrize(
    ("op", "seed", "form", "status", "outcome"),
    [
        ("GATHER_ND", 161, "drawn", "ok", "runs"),
        ("DEPTH_TO_SPACE", 7102, "stated otherwise", "ok", "runs"),
        ("MAXIMUM", 9102, "stated otherwise", "ok", "runs"),
        ("MUL", 9101, "another type", "ok", "runs"),
        ("TRANSPOSE_CONV", 8101, "another type", "invoke_error", "refuses"),
    ],
)
def test_a_file_on_which_the_verdict_was_contradicted(op: str, seed: int, form: str, status: str, outcome: str) -> None:
    pytest.importorskip("tflite_micro", reason="needs the extra `tflite`")
    pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")
    (drawn,) = animals(1, seed, [op], [form])
    assert (drawn.report.status, drawn.device.outcome, drawn.contradiction) == (status, outcome, "")
    assert drawn.wrong == (status == "ok")
