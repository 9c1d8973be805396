"""The page of a model with the log of a profiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from support.firmware_images import MODEL


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder with a model of one convolution."""
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(MODEL)


def page(log: str) -> str:
    """The page with a log."""
    Path("log.csv").write_text(log, encoding="utf-8")
    assert main(["report", "m.tflite", "--isolated", "--target", "m4", "--measured", "log.csv", "-o", "m.html"]) == 0
    return Path("m.html").read_text(encoding="utf-8")


def test_each_layer_has_what_was_measured() -> None:
    shown = page('"Event","Tag","Ticks"\n0,CONV_2D,98765\n')
    assert '<section id="measured">' in shown
    assert "<td>98,765</td>" in shown


def test_a_log_of_zeros_is_said_to_be_one() -> None:
    assert "Every value in it is 0" in page('"Event","Tag","Ticks"\n0,CONV_2D,0\n')


def test_a_log_of_another_model_shows_no_layers() -> None:
    shown = page('"Event","Tag","Ticks"\n0,SOFTMAX,7\n')
    assert "it is the log of another model" in shown
    assert "<td>7</td>" not in shown


def test_without_a_log_there_is_no_such_part() -> None:
    assert main(["report", "m.tflite", "--isolated", "--target", "m4", "-o", "m.html"]) == 0
    assert (
        "measured" not in Path("m.html").read_text(encoding="utf-8").partition("<body")[2].partition('id="findings"')[0]
    )


@pytest.mark.parametrize("words", [["m.tflite", "m.tflite"], ["m.tflite", "--overlay", "model-explorer"]])
def test_a_log_is_of_one_model_and_one_page(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.csv").write_text('"Event","Tag","Ticks"\n0,CONV_2D,1\n', encoding="utf-8")
    assert main(["report", *words, "--isolated", "--target", "m4", "--measured", "log.csv", "-o", "out"]) == 2
    assert "--measured is for the page of one model" in " ".join(capsys.readouterr().err.split())
