"""Findings on `.tflite` files against rows of real firmware."""

from __future__ import annotations

import gzip
import json
from functools import cache

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.cli.engine import layers_report, lint_file
from onnxlint_cmsis.config.file_reading import SettingsLayer
from onnxlint_cmsis.config.files import Configuration
from onnxlint_cmsis.ground.types import Level
from support import paths
from support.nightly import one_of
from support.targets import target_of

VECTORS = paths.SHARED / "vectors" / "tflm"
needs_vectors = pytest.mark.skipif(not VECTORS.exists(), reason="the complete firmware rows are not beside the project")
pytestmark = needs_vectors
LAST_BITS = {"pretrainedResnet.tflite"}
"""Float models whose last bits differ between the C libraries of Cortex-M4 and M55."""
OWN_PIN = "4ab83cc3"
NOT_REGISTERED = ("unless the application registers a kernel", "of the resolver registers it", "AddEthosU() registers")
"""Custom operators, of which the recorded firmware registers none."""


def rows(name, build="default"):
    """Rows of the library that the runtime brings, built for speed."""
    with gzip.open(VECTORS / f"{name}.jsonl.gz", "rt") as file:
        lines = [json.loads(line) for line in file]
    return [
        row
        for row in lines
        if row["kernels"] == "cmsis_nn"
        and row["build"] == build
        and row["optimized_for"] == "SPEED"
        and row["cmsis_nn"].startswith(OWN_PIN)
    ]


def path_of(name):
    path = paths.SHARED / "models" / "tflite" / name
    return str(path if path.exists() else paths.SHARED / "cases" / "tflite" / name)


@cache
def settings_of(cpu):
    layer = SettingsLayer("command line", "/", {"targets": [cpu], "size-checks-limit": 0})
    return Configuration(isolated=True, options=layer).settings_for("a.tflite")


@cache
def errors_of(name, cpu):
    result = lint_file(path_of(name), settings_of(cpu))
    assert not result.error
    assert result.readable
    custom = [finding for finding in result.findings if any(words in finding.text for words in NOT_REGISTERED)]
    return (*(finding for finding in result.findings if finding.level is Level.ERROR), *custom)


@pytest.mark.parametrize("name", one_of(2, ["synthetic", "models"]))
def test_what_stops_in_firmware_has_an_error_and_what_runs_rightly_has_none(name):
    stopped = 0
    for row in rows(name):
        errors = errors_of(row["model"], row["cpu"])
        if row["status"] != "ok":
            assert errors, (row["model"], row["cpu"], row["status"])
            stopped += 1
    assert stopped > 5


@pytest.mark.parametrize("name", one_of(2, ["synthetic", "models"]))
def test_an_error_is_about_a_model_that_stops_or_computes_wrongly(name):
    ends = {}
    for build in ("default", "release"):
        for row in rows(name, build):
            wrong = row["status"] != "ok" or not row["equals_reference_kernels"]
            ends.setdefault((row["model"], row["cpu"]), []).append(wrong)
    agreed = {"c_wzp5.tflite", "x_max_unequal.tflite"}  # wrong in the reference kernels also
    assert ends
    for (model, cpu), wrong in ends.items():
        if errors_of(model, cpu) and model not in agreed:
            assert any(wrong), (model, cpu, [error.text for error in errors_of(model, cpu)])


@pytest.mark.parametrize("name", one_of(2, ["synthetic", "models"]))
def test_an_output_that_differs_from_the_reference_kernels_has_an_error(name):
    wrong = 0
    for row in rows(name, "release"):
        skipped = row.get("output_note") or row["model"] in LAST_BITS
        if row["status"] == "ok" and not row["equals_reference_kernels"] and not skipped:
            codes = {error.code[:4] for error in errors_of(row["model"], row["cpu"])}
            assert codes & {"CNN3", "CNN4"}, (row["model"], row["cpu"])
            wrong += 1
    assert wrong or name == "models"


@pytest.mark.parametrize("name", one_of(2, ["synthetic", "models"]))
def test_layers_names_the_functions_that_were_called(name):
    cases = [*rows(name)]
    assert cases
    for row in cases:
        if row["status"] == "ok":
            layers = layers_report(path_of(row["model"]), settings_of(row["cpu"])).rows
            assert [layer["functions"] for layer in layers] == [
                operator["cmsis_nn"] for operator in row["operators"]
            ], row["model"]
            assert all({"index", "op", "functions", "chain", "verdict", "reason"} <= row.keys() for row in layers)


@pytest.mark.parametrize("name", one_of(2, ["synthetic", "models"]))
def test_memory_is_that_of_the_firmware(name):
    count = 0
    for row in rows(name):
        if row["status"] == "ok":
            model = ModelAnalysis(str(path_of(row["model"])), settings_of(row["cpu"]).analysis)
            report = model.execution.memory(*model.settings.targets)
            arena = report.arena
            assert arena is not None
            assert (arena.used, arena.head, arena.tail) == (row["arena_used"], row["head"], row["tail"]), row["model"]
            assert report.target == target_of(row["cpu"], "main").label
            count += 1
    assert count > 100
