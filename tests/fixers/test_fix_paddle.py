"""Paddle writes -1 for a size that is not fixed: it is a symbolic size for every part of the program."""

from __future__ import annotations

import onnx

from support.dims_graphs import Builder
from support.fix_command import run, text


def test_an_input_with_a_size_of_minus_one_is_fixed(tmp_path):
    build = Builder()
    data = build.conv(build.input("x", -1, 3, 8, 8), 3, 7, 3, name="stem")
    model = build.model(build.conv(data, 7, 4, 1, name="head"))
    (tmp_path / "paddle.onnx").write_bytes(model.SerializeToString())
    done = run(tmp_path, "--fix", "--fix-policy", "align", "--target", "cortex-m55", "paddle.onnx")
    assert "7 -> 8 padded" in text(done)
    assert b"internal error" not in done.stderr
    fixed = onnx.load(tmp_path / "paddle.onnx")
    assert [dim.dim_value for dim in fixed.graph.input[0].type.tensor_type.shape.dim] == [-1, 3, 8, 8]
