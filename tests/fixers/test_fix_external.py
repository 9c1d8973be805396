"""--fix, --fix-only and --diff on models whose weights are in other files."""

from __future__ import annotations

import json
import os

import onnx
import pytest

from onnxlint_cmsis.cli.file_fix import fix_file
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.formats.onnx import element_codes
from support.fix_command import run, text
from support.fixable_models import gaining

MODES = ["--fix", "--fix-only", "--diff"]


@pytest.fixture
def folder(tmp_path):
    model = onnx.load_model_from_string(gaining())
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    return tmp_path


def refused(done, *parts):
    assert done.returncode == 2, text(done)
    assert "not fixed: tensor" in text(done)
    for part in parts:
        assert part in text(done)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("policy", ["faster", "align"])
def test_missing_weights_are_told_by_file_and_exit_with_2(folder, mode, policy):
    (folder / "m.bin").unlink()
    before = (folder / "m.onnx").read_bytes()
    done = run(folder, mode, "--fix-policy", policy, "m.onnx")
    refused(done, "external data are in 'm.bin', which is not a file beside the model")
    assert (folder / "m.onnx").read_bytes() == before


@pytest.mark.parametrize("mode", MODES)
def test_weights_that_end_too_soon_are_told_and_exit_with_2(folder, mode):
    size = (folder / "m.bin").stat().st_size
    os.truncate(folder / "m.bin", size - 8)
    refused(run(folder, mode, "m.onnx"), f"of 'm.bin', which has {size - 8}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
@pytest.mark.parametrize("mode", MODES)
def test_weights_that_may_not_be_read_are_told_and_exit_with_2(folder, mode):
    (folder / "m.bin").chmod(0)
    refused(run(folder, mode, "m.onnx"), "external data are in 'm.bin', which cannot be read")


def test_a_file_that_cannot_be_opened_is_told(folder, monkeypatch, told):
    monkeypatch.setattr(element_codes, "read_bytes", lambda *_: None)
    result = fix_file(str(folder / "m.onnx"), make_settings(), write=False).result
    assert result.failed
    told(result.reason)


def test_where_nothing_would_change_missing_weights_are_told_as_well(folder):
    (folder / "m.bin").unlink()
    refused(
        run(folder, "--diff", "--config", "weights=false", "--fix-policy", "align", "--config", "align=1", "m.onnx"),
        "'m.bin'",
    )


def test_json_says_that_it_failed(folder):
    (folder / "m.bin").unlink()
    done = run(folder, "--diff", "--output-format", "json", "m.onnx")
    assert done.returncode == 2
    (file,) = json.loads(text(done))["files"]
    assert file["fix"]["failed"]
    assert "m.bin" in file["fix"]["reason"]


def test_another_file_is_fixed_all_the_same(folder):
    (folder / "m.bin").unlink()
    (folder / "whole.onnx").write_bytes(gaining())
    done = run(folder, "--fix-only", ".")
    refused(done, "whole.onnx: fixed (policy faster)")


def test_linting_reads_no_weights(folder):
    """Without a fix a missing file stays what it was: CNN006, and exit code 1."""
    (folder / "m.bin").unlink()
    done = run(folder, "m.onnx")
    assert done.returncode == 1
    assert "CNN006" in text(done)


@pytest.mark.parametrize("mode", ["--fix", "--fix-only"])
def test_readable_weights_are_fixed(folder, mode, told):
    assert run(folder, mode, "m.onnx").returncode == 0
    told(text(run(folder, "--fix-only", "m.onnx")))
