"""Bad input: one clear message each, exit code 2. No compiler and no QEMU needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import example_models as models
from firmware_check.cli import main


@pytest.fixture(autouse=True)
def needs_library() -> None:
    from importlib.util import find_spec

    if find_spec("bakenn") is None:
        pytest.skip("bakenn is not installed")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed where the check cannot run."""
    assert main(list(arguments)) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert output.err.startswith("firmware_check: ")
    return output.err


def test_no_such_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "none.onnx" in said(capsys, str(tmp_path / "none.onnx"))


def test_not_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_text("not a model", encoding="utf-8")
    assert "text.onnx" in said(capsys, str(path))


def test_open_sizes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = said(capsys, models.open_size(tmp_path))
    assert "input 'x' has shape 1x3x?x8; give its sizes: --input-shape x=1,..." in text


def test_nothing_for_cmsis_nn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from onnx import helper

    model = models.save(tmp_path, "erf", [helper.make_node("Erf", ["x"], ["y"])], ([1, 4], [1, 4]), {})
    assert "no layer that CMSIS-NN can run as int8" in said(capsys, model)


def test_no_library_in_the_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = said(capsys, models.residual(tmp_path), "--cmsis-nn", str(tmp_path))
    assert "no CMSIS-NN there; a folder with Include/arm_nnfunctions.h and Source is expected" in text


def test_a_cpu_without_a_board(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "QEMU has no board for cortex-m85" in said(capsys, models.residual(tmp_path), "--target", "cortex-m85")


def test_an_unknown_cpu(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "CPU 'z80' is not known" in said(capsys, models.residual(tmp_path), "--target", "z80")


def test_strict_without_a_second_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--against" in said(capsys, models.residual(tmp_path), "--strict")


def test_two_models_that_are_not_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = said(capsys, models.residual(tmp_path), "--against", models.one_dimensional(tmp_path))
    assert "have different inputs" in text


def test_calibration_data_that_does_not_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    import numpy as np

    folder = tmp_path / "data"
    folder.mkdir()
    text = said(capsys, models.residual(tmp_path), "--calibration", str(folder))
    assert "an equal number of .npy files is expected for each input; found 0 for 'x'" in text
    np.save(folder / "a.npy", np.zeros(5))
    assert "shape (5,); input 'x' has (1, 3, 8, 8)" in said(
        capsys, models.residual(tmp_path), "--calibration", str(folder)
    )


@pytest.mark.parametrize(
    ("name", "package"), [("arm-none-eabi-gcc", "gcc-arm-none-eabi"), ("qemu-system-arm", "qemu-system-arm")]
)
def test_missing_tools(
    name: str, package: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package == "qemu-system-arm" and not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("arm-none-eabi-gcc is not on the PATH")
    which = shutil.which
    monkeypatch.setattr("firmware_check.toolchain.shutil.which", lambda tool: None if tool == name else which(tool))
    text = said(capsys, models.residual(tmp_path))
    assert f"{name} is not on the PATH; install it (Debian, Ubuntu: apt-get install {package})" in text
