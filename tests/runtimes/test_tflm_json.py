"""A report as JSON says what the report says."""

from __future__ import annotations

import json

from onnxlint_cmsis.cmsis_nn.releases import parse_target
from onnxlint_cmsis.formats.tflite.file_model import read_tflite
from onnxlint_cmsis.runtimes.runtime import TflmBuild
from onnxlint_cmsis.runtimes.tflm.interpret import interpret, memory_json, operator_json
from support.tflite_models import conv_model
from support.tflite_writer import write

M4 = TflmBuild(parse_target("cortex-m4", "main"))


def test_operators_and_memory():
    model = read_tflite("m.tflite", write(conv_model()))
    report = interpret(model, M4)
    assert report.arena is not None
    row, memory = operator_json(report.operators[0]), memory_json(model, report.arena)
    assert (row["op"], row["verdict"], row["functions"]) == ("CONV_2D", "CMSIS-NN", ["arm_convolve_wrapper_s8"])
    assert memory["arena_used"] == memory["head"] + memory["tail"] == report.arena.used
    assert memory["arena_needed"] >= memory["arena_used"]
    assert sum(memory["persistent"].values()) == memory["tail"]
    assert [buffer["name"] for buffer in memory["plan"]][:2] == ["x", "y"]
    assert max(memory["alive"]) <= memory["head"]
    assert json.loads(json.dumps([row, memory])) == [row, memory]
