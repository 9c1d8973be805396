"""What `layers` says of softmaxes, which have no single cost."""

from __future__ import annotations

import onnx

import softmax_model
from onnxlint_cmsis.cli.main import main


def test_a_range_says_what_decides(tmp_path, capsys, told) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(softmax_model.softmax_model(12), path)
    assert main(["layers", "--isolated", "--target", "cortex-m4", "--release", "7.0.0", str(path)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if "instructions, the" in line]
    told(sorted(f"{line.split(':')[0].rpartition('_')[0]}: {line.rpartition(', ')[2]}" for line in lines))
