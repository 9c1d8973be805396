"""Kinds of calls that a sweep measures with a whole CMSIS-NN. ONNXLINT_CMSIS_NN names a checkout, of 7.0.0 or later."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from firmware_check.build import Bench
from firmware_check.library import open_library
from firmware_check.options import board_named
from firmware_check.sweep import measure
from firmware_check.swept_calls import DEFAULTS, KINDS, callable_kinds
from onnxlint_cmsis.cmsis_nn.layer_records import COST_KINDS
from support import paths
from support.firmware_runs import MISSING

FOLDER = os.environ.get("ONNXLINT_CMSIS_NN", "")
RECORDED = paths.DATA / "cost_later.jsonl.gz"
EVERY = 40
needs_checkout = [
    pytest.mark.skipif(not FOLDER, reason="ONNXLINT_CMSIS_NN names no checkout of CMSIS-NN"),
    pytest.mark.skipif(bool(FOLDER and MISSING), reason=f"this machine has no {', '.join(MISSING)}"),
]


def test_the_cost_model_answers_for_every_kind_that_is_measured() -> None:
    assert {kind for kind, row in KINDS.items() if not row.plain} == set(COST_KINDS)


BUILD = {"cortex-m3": "scalar", "cortex-m4": "dsp", "cortex-m55": "mve"}
BUILD |= {name: name for name in ("cortex-m0", "cortex-m23")}
"""Core to what records call its build."""


@pytest.mark.parametrize("core", BUILD)
class TestCheckout:
    pytestmark = needs_checkout

    def test_recorded_calls_of_plain_code_are_measured_again_to_1_percent(self, core: str, tmp_path: Path) -> None:
        bench = Bench(board_named(core), open_library(FOLDER), 600.0, own="-Os")
        with gzip.open(paths.DATA / "cost_plain.jsonl.gz", "rt") as lines:
            known = [json.loads(line) for number, line in enumerate(lines) if number % 5 == 0]
        rows = [DEFAULTS | {name: value for name, value in row.items() if name != "instructions"} for row in known]
        assert len(rows) > 15
        for before, row in zip(known, measure(rows, bench, tmp_path), strict=True):
            recorded = before["instructions"][f"{BUILD[core]} -Os"]
            assert abs(row["instructions"] / recorded - 1) <= 0.01, row

    def test_recorded_calls_are_measured_again_to_1_percent(self, core: str, tmp_path: Path) -> None:
        bench = Bench(board_named(core), open_library(FOLDER), 600.0)
        release, name = bench.library.release, BUILD[core]
        builds = [f"{release}-{name}", *([f"7.0.0-{name}"] if release == "main" else [])]
        with gzip.open(RECORDED, "rt") as lines:
            records = [json.loads(line) for number, line in enumerate(lines) if number % EVERY == 0]
        known = [row for row in records if row["kind"] in callable_kinds(bench.library)]
        known = [row for row in known if any(build in row["instructions"] for build in builds)]
        rows = [DEFAULTS | {k: v for k, v in row.items() if k not in ("part", "instructions")} for row in known]
        assert len(rows) > (150 if release in ("7.0.0", "main") else 5)
        for before, row in zip(known, measure(rows, bench, tmp_path), strict=True):
            recorded = next(before["instructions"][build] for build in builds if build in before["instructions"])
            assert abs(row["instructions"] / recorded - 1) <= 0.01, row
