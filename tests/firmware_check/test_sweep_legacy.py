"""The sweep of functions for q7 and q15 names every call that did not do what it should, or did not run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import sweep_legacy
from firmware_check.build import Bench
from firmware_check.evidence.call_layer import CallStep
from firmware_check.evidence.call_runs import CallRun, Trouble
from firmware_check.library import Library
from firmware_check.options import board_named

RUNS = {
    "failed": CallRun(Trouble(0, (), ()), None, failed="undefined reference to `sigmoidTable_q7'"),
    "ended": CallRun(Trouble(0, (), ()), None, ended="HardFault"),
    "wrong": CallRun(Trouble(0, ("1 of 2 values wrong",), ()), None),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_call_that_did_not_run_is_named(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.zeros(2, np.int8)
    step = sweep_legacy.softmax_step("softmax_q7 0", data)

    def run_steps(steps: Sequence[CallStep], *_: object) -> dict[str, CallRun]:
        return {step.step.label: RUNS[kind] for step in steps}

    monkeypatch.setattr(sweep_legacy, "other_steps", lambda *_: iter([step]))
    monkeypatch.setattr(sweep_legacy, "layer_steps", lambda *_: iter(()))
    monkeypatch.setattr(sweep_legacy, "run_steps", run_steps)
    bench = Bench(board_named("cortex-m4"), Library(tmp_path, "cmsis5-5.6.0", (), "here"))
    (line,) = sweep_legacy.untold(bench, 1)
    run = RUNS[kind]
    assert line.endswith(run.failed or run.ended or run.trouble.wrong[0])
