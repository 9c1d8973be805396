"""A report as JSON says what the report says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint_cmsis.cli.main import main
from support.linter import analysed
from support.tflite_models import conv_model
from support.tflite_writer import write


def test_operators_and_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(write(conv_model()))
    told = {}
    for command in ("layers", "memory"):
        assert main([command, "--isolated", "--target", "cortex-m4", "--output-format", "json", str(path)]) == 0
        told[command] = json.loads(capsys.readouterr().out)
    model = analysed(path, targets=["cortex-m4"])
    arena = model.execution.memory(model.settings.targets[0]).arena
    assert arena is not None
    (row,), (memory,) = told["layers"]["layers"], told["memory"]["targets"]
    assert (row["op"], row["verdict"], row["functions"]) == ("CONV_2D", "CMSIS-NN", ["arm_convolve_wrapper_s8"])
    assert memory["arena_used"] == memory["head"] + memory["tail"] == arena.used
    assert memory["arena_needed"] >= memory["arena_used"]
    assert sum(memory["persistent"].values()) == memory["tail"]
    assert [buffer["name"] for buffer in memory["plan"]][:2] == ["x", "y"]
    assert max(memory["alive"]) <= memory["head"]
