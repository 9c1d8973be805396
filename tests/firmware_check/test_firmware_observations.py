"""The models behind the device's recorded observations, run again with a whole CMSIS-NN of the same release."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from firmware_check.board_run import inputs_of
from firmware_check.build import Bench
from firmware_check.evidence.call_layer import CallStep
from firmware_check.evidence.call_runs import CallRun, run_steps
from firmware_check.library import Library, open_library
from firmware_check.opening import Options, open_model
from firmware_check.options import board_named
from firmware_check.predicted_hazards import Trouble
from onnxlint_cmsis.cmsis_nn.library import route
from support import paths
from support.firmware_runs import MISSING

FOLDER = os.environ.get("ONNXLINT_CMSIS_NN", "")
SEEN = paths.SHARED / "cases" / "device"
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="ONNXLINT_CMSIS_NN names no checkout of CMSIS-NN"),
    pytest.mark.skipif(not SEEN.exists(), reason="needs the device's observations in a folder `shared`"),
    pytest.mark.skipif(bool(FOLDER and MISSING), reason=f"this machine has no {', '.join(MISSING)}"),
]


@cache
def library() -> Library:
    """The checkout; its release decides which observations are held against it."""
    return open_library(FOLDER)


def observations(cpu: str) -> list[dict[str, Any]]:
    """What was seen on a CPU with the checkout's release."""
    rows = [json.loads(line) for line in (SEEN / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if (row["cpu"], row["release"]) == (cpu, library().release)]


def layers_of(name: str, folder: Path) -> list[CallStep]:
    """The calls of a model, each with an input from ONNX Runtime and what ONNX Runtime makes of it."""
    model = open_model(str(SEEN / "models" / name), library(), Options({}), folder)
    (given,) = inputs_of(model, 0, 1)
    calls = []
    for number, step in enumerate(model.program.steps):
        if step.function:
            known = model.reference.tensors([value.tensor for value in step.inputs], given)
            source = step.inputs[0].to_memory(step.inputs[0].held(known[step.inputs[0].tensor]))
            outputs = step.output.held(model.reference.layer(step, known))
            calls.append(CallStep(replace(step, label=f"{name} {number}"), source, step.output.to_memory(outputs)))
    return calls


@pytest.mark.parametrize("cpu", ["cortex-m3", "cortex-m4", "cortex-m55"])
def test_every_observation_is_made_again(cpu: str, tmp_path: Path) -> None:
    rows, bench = observations(cpu), Bench(board_named(cpu), library(), 600.0)
    if not rows:
        pytest.skip(f"there is no observation of {library().release} on {cpu}")
    calls: dict[str, list[CallStep]] = {}
    for number, name in enumerate(dict.fromkeys(row["model"] for row in rows)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        calls[name] = layers_of(name, folder)
    runs = run_steps([step for steps in calls.values() for step in steps], bench, tmp_path / "runs")
    assert rows
    for row in rows:
        ran = [(call, runs[call.step.label]) for call in calls[row["model"]]]
        assert any(_like(run, row) for _, run in ran), row
        assert any(_troubled(run) for _, run in ran) is bool(row["status"] or row["wrong"] or row["overrun"]), row
        for call, run in ran:
            assert run.unlike == (), row
            assert call.step.call is not None
            hazards = route(call.step.call, bench.target).hazards
            assert not _troubled(run) or any(run.trouble.of(hazard) for hazard in hazards), row


def _like(run: CallRun, row: dict[str, Any]) -> bool:
    """Whether a call ran the kernel that was seen, with the status that was seen."""
    ran = (*run.observed.chain, run.observed.effective) if run.observed else ()
    return row["kernel"] in ran and row["status"] == run.trouble.status


def _troubled(run: CallRun) -> bool:
    return run.trouble != Trouble(0, (), ())
