"""What a person sees in a terminal of 80 columns; wider ones are used. UPDATE_GOLDEN=1 writes the files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.output.text_table import TableFit, fitted
from support import paths
from support.goldens import check_golden
from support.models import text as model_text
from support.third_party_models import needs_models

SCREENS = {
    "vww": "models/vww96_int8_tf.onnx",
    "silero": "models/silero_vad_16k_op15.onnx",
    "unet": "cases/torch/unet_dyn.onnx",
    "dscnn": "cases/torch/dscnn_def.onnx",
    "clean": "models/kws_ds_cnn_int8_tf.onnx",
    "kws_tflite": "models/tflite/kws_ref_model.tflite",
}
"""Models of TensorFlow, of both exporters of PyTorch, one with little to say, and one of TensorFlow Lite."""


def screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int, *words: str) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(paths.SHARED)
    assert main(["--isolated", *words]) in (0, 1)
    return capsys.readouterr().out


@needs_models
@pytest.mark.parametrize("name", SCREENS)
def test_screens(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told = ["--target", "cortex-m4,cortex-m55", SCREENS[name]]
    text = screen(capsys, monkeypatch, 80, *told)
    assert max(map(len, text.splitlines())) <= 80
    wide = screen(capsys, monkeypatch, 120, *told)
    assert 80 < max(map(len, wide.splitlines())) <= 120
    check_golden(f"screens/{name}", text)


@needs_models
@pytest.mark.parametrize("form", [["--diff"], ["--explain", "--min-level", "note"]])
def test_no_line_is_wider_than_the_terminal(
    form: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = screen(capsys, monkeypatch, 80, *form, SCREENS["vww"], SCREENS["dscnn"])
    assert len(text.splitlines()) > 5
    assert max(map(len, text.splitlines())) <= 80


@needs_models
def test_full_names_are_those_of_the_file(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = "model/conv2d_5/Conv2D1_prequant"
    text = screen(capsys, monkeypatch, 1000, SCREENS["vww"])
    assert whole not in text
    assert "Conv 'conv2d_5': " in text
    assert whole in screen(capsys, monkeypatch, 1000, SCREENS["vww"], "--full-names")


@needs_models
@pytest.mark.parametrize("name", ["vww", "unet", "kws_tflite"])
def test_layers_screens(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told = ["layers", "--target", "cortex-m4,cortex-m55", SCREENS[name]]
    text = screen(capsys, monkeypatch, 80, *told)
    assert max(map(len, text.splitlines())) <= 80
    wide = screen(capsys, monkeypatch, 120, *told)
    assert 80 < max(map(len, wide.splitlines())) <= 120
    check_golden(f"screens/layers-{name}", text)


LAYERS = """
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 8, 1, 128] x, float[1, 8, L, 64] z) => (float[] y)
    <float[8, 8, 1, 5] w = {1}, float[8, 8, 1, 1] v = {1}> {
        [row] a = Conv<strides = [1, 2], pads = [0, 1, 0, 2]>(x, w)
        b = Relu(a)
        [pointwise] c = Conv(b, v)
        [curve] d = Sigmoid(c)
        [sum] y = Add(d, z)
    }
"""
"""A layer with a hazard, one without, one in reference code and one that a size leaves open."""


def test_layers_are_marked_by_their_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    Path("m.onnx").write_bytes(model_text(LAYERS).SerializeToString())
    assert main(["layers", "--isolated", "--target", "cortex-m4,cortex-m55", "m.onnx"]) == 0
    check_golden("screens/layers-verdicts", capsys.readouterr().out)


@pytest.mark.parametrize("width", range(20, 60, 5))
def test_a_table_leaves_columns_out_before_it_cuts_what_has_to_stay(width: int) -> None:
    rows = [["a" * 30, "b" * 10, "c" * 10], ["a", "b", "c"]]
    text = fitted(["first", "second", "third"], rows, fit=TableFit(width, {"first": 8}, ["second", "third"]))
    assert max(map(len, text.splitlines())) <= width
    assert ("third" in text) == (width >= 8 + 2 + 10 + 2 + 10)
    assert "a...a" in text or width > 54


@needs_models
@pytest.mark.parametrize(
    ("words", "styles"),
    [
        (["layers", "--target", "cortex-m55", "cases/torch/cnn1d_def.onnx"], {"1", "2", "1;31"}),
        (["compare", "--target", "cortex-m4", SCREENS["dscnn"], SCREENS["clean"]], {"32"}),
        (["compare", "--target", "cortex-m4", SCREENS["clean"], SCREENS["dscnn"]], {"1;33"}),
        ([SCREENS["vww"]], {"1", "32", "1;33"}),
    ],
)
def test_colours_have_a_meaning_and_change_no_text(
    words: list[str], styles: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(paths.SHARED)
    texts = []
    for variables in ({}, {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}):
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            main([*words, "--isolated"])
            texts.append(capsys.readouterr().out)
    plain, coloured, refused = texts
    assert plain == refused == re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert {*re.findall(r"\x1b\[([\d;]+)m", coloured)} - {"0"} >= styles
