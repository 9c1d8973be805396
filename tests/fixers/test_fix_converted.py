"""An ONNX model that does not fit: no parts of its layers are computed there, and what to do is said."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import ModelProto

from onnxlint_cmsis.checks.exact_fit import CONVERT
from support.expanding_nets import expanding
from support.fixable_models import dead
from support.linter import fixed, linted


def told(model: ModelProto | bytes, name: str = "m.onnx", **settings: Any) -> tuple[bool, bool]:
    """Whether the finding and the fix say that a converted model may fit."""
    settings = {"targets": ["cortex-m4"], **settings}
    remedies = [row.remedy for row in linted(model, name, **settings).findings if row.code == "CNN601"]
    notes = fixed(model, name, **settings).result.notes
    return any(CONVERT in remedy for remedy in remedies), any(CONVERT in note for note in notes)


@pytest.mark.parametrize("settings", [{}, {"runtime": "tflm"}, {"fix_policy": "smaller"}])
def test_an_onnx_model_that_does_not_fit_may_be_converted(settings: dict[str, Any]) -> None:
    assert told(dead(), ram=64, **settings) == (True, True)
    assert told(dead(), ram=1 << 20, **settings) == (False, False)


@pytest.mark.parametrize("runtime", ["executorch", "tvm"])
def test_no_runtime_is_told_of_files_that_it_does_not_read(runtime: str) -> None:
    assert told(dead(), ram=64, runtime=runtime) == (False, False)


@pytest.mark.parametrize("runtime", ["tflm", "direct"])
def test_a_tflite_file_needs_no_converter(runtime: str) -> None:
    assert told(expanding(), "m.tflite", ram=64, runtime=runtime) == (False, False)
