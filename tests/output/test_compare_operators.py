"""A comparison names the operators that the application of the second version registers besides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from support.expanding_nets import expanding
from support.linter import fixed
from support.models import text

pytest.importorskip("ai_edge_litert", reason="needs the extra `tflite`")

SENTENCE = "the application has to register AddConcatenation() besides"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a net, and with the same in parts."""
    monkeypatch.chdir(tmp_path)
    new = fixed(expanding(), "m.tflite", targets=["cortex-m4"], fix_policy="smaller").model
    assert new is not None
    Path("whole.tflite").write_bytes(expanding())
    Path("parts.tflite").write_bytes(new)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_person_is_told(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    for names, expected in ((("whole", "parts"), True), (("parts", "whole"), False), (("whole", "whole"), False)):
        main(["compare", "--isolated", "--output-format", form, *(f"{name}.tflite" for name in names)])
        assert (SENTENCE in capsys.readouterr().out) == expected


@pytest.mark.usefixtures("folder")
def test_a_program_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", "--isolated", "--output-format", "json", "whole.tflite", "parts.tflite"])
    assert json.loads(capsys.readouterr().out)["registers"] == ["AddConcatenation()"]


@pytest.mark.usefixtures("folder")
def test_nothing_is_said_where_one_version_is_not_for_that_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    model = text("""
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { y = Relu(x) }
    """)
    Path("m.onnx").write_bytes(model.SerializeToString())
    main(["compare", "--isolated", "m.onnx", "parts.tflite"])
    assert "to register" not in capsys.readouterr().out
