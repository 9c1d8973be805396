"""A report as JSON says what the report says."""

from __future__ import annotations

import json

from onnxlint_cmsis.analysis.analysis import AnalysisSettings, ModelAnalysis
from onnxlint_cmsis.analysis.layers import layer_reports
from onnxlint_cmsis.cli.memory_command import memory_fields
from onnxlint_cmsis.cmsis_nn.releases import parse_target
from onnxlint_cmsis.output.layers import layer_fields
from support.tflite_models import conv_model
from support.tflite_writer import write

M4 = parse_target("cortex-m4", "main")


def test_operators_and_memory():
    model = ModelAnalysis("m.tflite", AnalysisSettings((M4,)), write(conv_model()))
    report = model.memory(M4)
    assert report.arena is not None
    row, memory = layer_fields(layer_reports(model)[0]), memory_fields(report)
    assert (row["op"], row["verdict"], row["functions"]) == ("CONV_2D", "CMSIS-NN", ["arm_convolve_wrapper_s8"])
    assert memory["arena_used"] == memory["head"] + memory["tail"] == report.arena.used
    assert memory["arena_needed"] >= memory["arena_used"]
    assert sum(memory["persistent"].values()) == memory["tail"]
    assert [buffer["name"] for buffer in memory["plan"]][:2] == ["x", "y"]
    assert max(memory["alive"]) <= memory["head"]
    assert json.loads(json.dumps([row, memory])) == [row, memory]
