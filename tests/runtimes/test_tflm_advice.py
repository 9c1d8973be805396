"""What is said to do about operators that TensorFlow Lite Micro runs in reference code."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.linter import linted
from support.paths import SHARED
from support.tflm_drafts import Draft, Operands

LSTM = SHARED / "cases/reports/a7_lstm_float_1.tflite"


def advice(model: bytes | Path) -> dict[str, set[str]]:
    """Causes of CNN403, and what is said to do about each."""
    said: dict[str, set[str]] = {}
    for finding in linted(model, "m.tflite", targets=("cortex-m4",)).findings:
        if finding.code == "CNN403":
            said.setdefault(finding.cause, set()).add(finding.remedy)
    return said


def pair(kind: str) -> bytes:
    """An ADD of two inputs of a type."""
    draft = Draft(1, "ADD")
    left, right, output = (draft.tensor([1, 4], kind) for _ in range(3))
    draft.add("ADD", Operands([left, right], [output], ("AddOptions", {})))
    return draft.file()


@pytest.mark.skipif(not LSTM.exists(), reason="the shared cases are not there")
def test_a_float_loop_is_unrolled_and_not_quantized() -> None:
    said = advice(LSTM)
    assert "float" not in said
    (do,) = said["recurrent"]
    assert do.startswith("A layer of Keras with unroll=True becomes plain operators")
    assert not any("Quantize" in text for texts in said.values() for text in texts)


def test_a_float_operator_outside_of_loops_is_quantized() -> None:
    assert advice(pair("FLOAT32")) == {"float": {"Quantize it to int8, with calibration data."}}


def test_arithmetic_on_sizes_and_counters_is_left_alone() -> None:
    nothing = "Nothing: it runs, slower than an operator with a CMSIS-NN kernel."
    assert advice(pair("INT32")) == {"no-function": {nothing}}
