"""The first line against what devices did: firmware of TensorFlow Lite Micro, its own build, and functions under QEMU.

84 models of others, 132 made ones, 168 of a converter and 148 of single functions come from a folder `shared`; PyPI's
tflite-micro runs 276 files that are drawn here.

A device tells one of three: the model stops, it gives wrong values or writes past a buffer, or it is right.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest

from onnxlint_cmsis.analysis.verdict import RUNS, WITHOUT, WORDS
from onnxlint_cmsis.cli.api import lint
from onnxlint_cmsis.ground.findings import Effect
from onnxlint_cmsis.model.model_error import ModelError
from support import paths
from support.nightly import one_of
from support.tflm_agreement import held
from support.tflm_drafts import random_file

needs_shared = pytest.mark.skipif(not paths.SHARED.exists(), reason="needs what devices did in a folder `shared`")
needs_wheel = pytest.mark.skipif(find_spec("tflite_micro") is None, reason="the wheel tflite-micro is not installed")
OPEN = {WORDS[effect] for effect in (Effect.NO_KERNEL, Effect.MAY_FAIL, Effect.UNKNOWN)}
"""Words for files of which it is not known whether they run."""
STOPS, WRONG, NO_KERNEL = (WORDS[effect] for effect in (Effect.STOPS, Effect.WRONG, Effect.NO_KERNEL))
CHECKS = "in builds with checks"
RIGHT = (RUNS, WITHOUT, WORDS[Effect.REFERENCE])
TYPES, DEVICE = (paths.SHARED / "cases" / name for name in ("tflite_types", "device"))
FLOAT_STEPS = {"pretrainedResnet.tflite"}
"""Float models whose last bits differ between C libraries."""
AGREED_TRAPS = {"c_wzp5.tflite", "x_max_unequal.tflite"}
"""Wrong in TensorFlow Lite Micro's reference kernels also."""


@cache
def words(path: str, *targets: str, **settings: str) -> tuple[str, ...]:
    """The word for each target; with its condition where it holds for builds with checks alone."""
    given: dict[str, Any] = {**settings, "targets": targets, "size_checks_limit": 0}
    verdicts = lint(paths.SHARED / path, **given).verdicts
    return tuple(f"{verdict.word} {CHECKS}" if verdict.condition == CHECKS else verdict.word for verdict in verdicts)


Build = tuple[str, dict[str, str]]
"""A file, and settings but for the target."""


def with_words(rows: Sequence[dict[str, Any]], build: Callable[[dict[str, Any]], Build]) -> Iterator[tuple[Any, str]]:
    """Every row with the word for its file and target. What rows of other targets ask of the file is asked with it."""
    builds = [(path, *settings.items()) for path, settings in map(build, rows)]
    targets: dict[Any, list[str]] = {}
    for row, asked in zip(rows, builds, strict=True):
        if row["cpu"] not in targets.setdefault(asked, []):
            targets[asked].append(row["cpu"])
    for row, asked in zip(rows, builds, strict=True):
        path, *settings = asked
        yield row, words(path, *targets[asked], **dict(settings))[targets[asked].index(row["cpu"])]


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(paths.SHARED / "vectors" / "tflm" / f"{name}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def folder_of(name: str) -> str:
    return "models/tflite" if (paths.SHARED / "models" / "tflite" / name).exists() else "cases/tflite"


def firmware(row: dict[str, Any]) -> Build:
    """What a row was measured with."""
    own = row["optimized_for"] if row["kernels"] == "cmsis_nn" else "NONE"
    release = {"release": "7.0.0"} if row["cmsis_nn"] == "v7.0.0" else {}
    return f"{folder_of(row['model'])}/{row['model']}", {"compiler": "gcc@12.2", "cmsis_nn_build": own, **release}


@needs_shared
@pytest.mark.parametrize("every", one_of(2, (9, 1)))
def test_firmware_of_tensorflow_lite_micro(every: int) -> None:
    """One of so many models with all that was built of it."""
    measured = [*rows("models"), *rows("synthetic")]
    chosen = {*sorted({row["model"] for row in measured})[::every]}
    seen = dict.fromkeys(("stops", "wrong", "right", "other build", "own operator", "reference"), 0)
    for row, said in with_words([row for row in measured if row["model"] in chosen], firmware):
        where = row["model"], row["cpu"], row["build"], row["optimized_for"], said
        wrong = row["status"] == "ok" and not row.get("equals_reference_kernels", True)
        if "CUSTOM" in row["message"]:  # the firmware registers none, an application may
            assert said in (NO_KERNEL, WITHOUT, WORDS[Effect.REFERENCE]), where
            what = "own operator"
        elif row["build"] == "release" and said == f"{STOPS} {CHECKS}":  # of which the line says nothing
            what = "other build"
        elif row["status"] != "ok":
            assert said.startswith(STOPS), where
            what = "stops"
        elif row["kernels"] != "cmsis_nn":  # which is what others are compared with
            assert not said.startswith(STOPS), where
            what = "reference"
        elif row["model"] in AGREED_TRAPS or (wrong and row["model"] not in FLOAT_STEPS):
            assert said == WRONG, where
            what = "wrong"
        else:
            assert said in RIGHT, where
            what = "right"
        seen[what] += 1
    assert sum(seen.values()) > 2000 // every
    assert min(seen[what] for what in ("stops", "wrong", "right", "reference")) > 0
    assert every > 1 or seen == {
        "stops": 197, "wrong": 163, "right": 1810, "other build": 27, "own operator": 30, "reference": 197
    }  # fmt: skip


@needs_shared
@pytest.mark.parametrize("build", ["NONE", "SPEED"])
def test_files_of_a_stock_converter(build: str) -> None:
    """The truth is that of a build without CMSIS-NN, whose kernels may refuse more, and never less."""
    refused_too = 0
    lines = (TYPES / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        (said,) = words(f"cases/tflite_types/{row['file']}", "cortex-m4", cmsis_nn_build=build)
        if row["tflm"] != "runs":
            assert said.startswith(STOPS), row
        elif said.startswith(STOPS):
            refused_too += 1
        else:
            assert said not in OPEN, row
    assert (len(lines), refused_too) == (168, {"NONE": 0, "SPEED": 6}[build])


@needs_shared
def test_functions_under_qemu() -> None:
    seen = dict.fromkeys(("stops", "wrong", "right"), 0)
    lines = (DEVICE / "truth.jsonl").read_text(encoding="utf-8").splitlines()

    def alone(row: dict[str, Any]) -> Build:
        return f"cases/device/models/{row['model']}", {"release": row["release"], "compiler": "gcc@12.2"}

    for row, said in with_words([*map(json.loads, lines)], alone):
        what = "stops" if row["status"] else "wrong" if row["wrong"] or row["overrun"] else "right"
        assert said in {"stops": (STOPS,), "wrong": (WRONG,), "right": RIGHT}[what], (row, said)
        seen[what] += 1
    assert seen == {"stops": 48, "wrong": 172, "right": 579}


@needs_wheel
def test_files_that_the_wheel_runs() -> None:
    """The wheel is a build without checks and without CMSIS-NN; where it runs a file, its values are the reference."""
    seen: Counter[str] = Counter()
    for file in held(3, seed=1000):
        try:
            (verdict,) = lint(random_file(file.seed, file.op), targets=["cortex-m4"], cmsis_nn_build="NONE").verdicts
        except ModelError as error:  # the desktop refuses such a file, and the wheel's kernel does not look
            assert "is out of range" in str(error), (file.op, file.seed)
            seen["no model"] += 1
            continue
        stops = verdict.word == STOPS and verdict.condition != CHECKS
        told = verdict.word in OPEN or stops == (file.outcome != "runs")
        assert told, (file.op, file.seed, file.outcome, file.printed, verdict)
        seen[f"{verdict.word}{f' {CHECKS}' if verdict.condition == CHECKS else ''}"] += 1
    assert seen.total() == 276
    assert sum(seen[word] for word in OPEN) <= 14
    assert seen[STOPS] >= 40
