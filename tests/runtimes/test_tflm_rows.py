"""TensorFlow Lite Micro on paper against rows of real firmware (90b983c2, CMSIS-NN 4ab83cc3 and 7.0.0, under QEMU)."""

from __future__ import annotations

import gzip
import json

import pytest

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.custom_operators import CUSTOM
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport
from support import paths
from support.targets import target_of
from support.tflite_writer import restore, write
from support.tflm_rows import build_of, differences

SAMPLE = paths.DATA / "tflm_sample.jsonl.gz"
"""Made by lab/sample_tflm.py from rows recorded with real firmware."""
SHARED = paths.SHARED / "vectors" / "tflm"
needs_vectors = pytest.mark.skipif(not SHARED.exists(), reason="the complete firmware rows are not beside the project")
FLOAT_STEPS = {"pretrainedResnet.tflite"}
"""Float models whose last bits differ between the C libraries of Cortex-M4 and M55."""
AGREED_TRAPS = {"c_wzp5.tflite", "x_max_unequal.tflite"}
"""Wrong in TensorFlow Lite Micro's reference kernels also."""


def lines(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def model_of(name):
    folder = paths.SHARED / "models" / "tflite"
    path = folder / name
    return read_tflite(path if path.exists() else paths.SHARED / "cases" / "tflite" / name)


def test_every_row_of_the_sample():
    count = 0
    for line in lines(SAMPLE):
        model = read_tflite("sample.tflite", write(restore(line["model"])))
        for row in line["rows"]:
            assert differences(interpret(model, build_of(row)), row) == [], row["model"]
            count += 1
    assert count > 400


def test_builds_without_cmsis_nn_call_none_of_its_functions():
    count = 0
    for line in lines(SAMPLE):
        model = read_tflite("sample.tflite", write(restore(line["model"])))
        for row in (row for row in line["rows"] if row["kernels"] != "cmsis_nn"):
            report = interpret(model, build_of(row))
            assert not any(operator.functions or operator.call for operator in report.operators), row["model"]
            assert report.arena is None or report.arena.used == row["head"] + row["tail"]
            count += 1
    assert count > 30


def test_every_function_of_the_library_has_its_call():
    seen = set()
    for line in lines(SAMPLE):
        model = read_tflite("sample.tflite", write(restore(line["model"])))
        for operator in interpret(model, build_of(line["rows"][0])).operators:
            assert (operator.call is None) == (operator.functions in ((), ("arm_depthwise_conv_s16",))), operator
            seen |= {operator.call.entry} if operator.call else set()
    assert len(seen) > 15


@needs_vectors
@pytest.mark.parametrize("name", ["models", "synthetic"])
def test_every_row_of_real_firmware(name):
    count = 0
    for row in lines(SHARED / f"{name}.jsonl.gz"):
        row["operators"] = [[o["op"], o["cmsis_nn"], o["scratch"], o["status"]] for o in row["operators"]]
        report = interpret(model_of(row["model"]), build_of(row))
        if any(operator.op in CUSTOM for operator in report.operators):
            assert row["message"].startswith("Failed to get registration from op code CUSTOM")
            continue
        assert differences(report, row) == [], row["model"]
        count += 1
    assert count > 800


@needs_vectors
def test_every_output_that_differs_from_reference_kernels_has_a_reason():
    count = 0
    for row in [*lines(SHARED / "models.jsonl.gz"), *lines(SHARED / "synthetic.jsonl.gz")]:
        if row["kernels"] != "cmsis_nn" or row["status"] != "ok" or row.get("output_note"):
            continue  # rows with a note are marred by a compiler
        report = interpret(model_of(row["model"]), build_of(row))
        reasons = [operator.reason for operator in report.operators if operator.verdict is Outcome.WRONG]
        if row["equals_reference_kernels"]:
            assert not reasons or row["model"] in AGREED_TRAPS, (row["model"], reasons)
        elif row["model"] not in FLOAT_STEPS:
            assert reasons, (row["model"], row["cpu"])
            count += 1
    assert count > 100


@needs_vectors
def test_the_smallest_arena_that_works():
    count = 0
    for row in lines(SHARED / "min_arena.jsonl.gz"):
        build = TflmBuild(target_of(f"cortex-{row['cpu']}", "main"))
        arena = interpret(model_of(row["model"]), build).arena
        assert arena is not None
        assert arena.used == row["arena_used"], row["model"]
        assert arena.to_write == row["min_arena_mult16"], row["model"]
        count += 1
    assert count > 20


@needs_vectors
def test_kernels_under_the_functions():
    count = 0
    for row in lines(SHARED / "synthetic.jsonl.gz"):
        if row["kernels"] != "cmsis_nn" or row["status"] != "ok":
            continue
        report: TflmReport = interpret(model_of(row["model"]), build_of(row))
        for operator, recorded in zip(report.operators, row["operators"], strict=True):
            called = iter(call["fn"] for call in recorded.get("cmsis_nn_calls") or ())
            assert all(name in called for name in operator.chain), (row["model"], operator.op, operator.chain)
            count += len(operator.chain)
    assert count > 1500
