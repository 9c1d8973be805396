"""Functions for f32 and f16: every recorded call of the real library is what routes, scratch and hazards say."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.library import FLOAT, hazards
from onnxlint_cmsis.cmsis_nn.tables import FLOAT_ENTRIES, hazards_of
from support.float_vectors import (
    SHARED,
    VECTORS,
    Row,
    call_of,
    needs_shared,
    rows,
    said_chain,
    seen_chain,
    taken_by,
    target_of,
)

CLAMPED_AWAY = {"a168", "b556"}
"""Calls that are wrong before their clamp alone: every value becomes one of its bounds."""
NOT_RECORDED = {
    *("avgpool-half-sum-f16", "bmm-half-sum-f16", "conv-half-sum-f16", "fc-half-sum-f16"),
    *("conv-1x1-past-input-f16", "conv-1x1-past-input-f32", "pad-negative-f16", "pad-negative-f32"),
    *("conv-1x1-refused-f16", "conv-1x1-refused-f32", "batch-norm-bias-missing-f16", "elementwise-nothing-f16"),
    *("dw-3x3-padding-after-f16", "dw-k3-padding-after-f32"),
}
"""Hazards that no recorded call meets: what they say was read, or seen in calls made by hand."""


@cache
def vectors(path: Path) -> list[Row]:
    return rows(path)


def met(row: Row) -> list[Hazard]:
    """Hazards of a call, those that a caller can avoid too."""
    call, target, taken = call_of(row), target_of(row), taken_by(row)
    every = [hazard for kernel in ("", *taken.chain) for hazard in hazards_of(call.entry, kernel, target)]
    return [hazard for hazard in every if hazard.meets(taken.seen)]


def status_of(row: Row) -> int | None:
    return next((hazard.status for hazard in met(row) if hazard.kind == "returns-error"), 0)


@pytest.mark.parametrize("path", VECTORS)
def test_the_functions_that_ran_are_those_of_the_route(path: Path) -> None:
    wrong = [
        (row["id"], row["cpu"], said_chain(taken_by(row)), seen_chain(row))
        for row in vectors(path)
        if row["status"] == "0" and said_chain(taken_by(row)) != seen_chain(row)
    ]
    assert wrong == []


@pytest.mark.parametrize("path", VECTORS)
def test_size_functions_answer_what_is_said(path: Path) -> None:
    asked = [(taken_by(row).buffer_size, int(row["buffer_bytes_asked"] or -1), row["id"]) for row in vectors(path)]
    assert [answer for answer in asked if answer[0] != answer[1]] == []


@pytest.mark.parametrize("path", VECTORS)
def test_each_status_is_what_is_said(path: Path) -> None:
    assert [row["id"] for row in vectors(path) if str(status_of(row)) != row["status"]] == []


@pytest.mark.parametrize("path", VECTORS)
def test_wrong_values_are_known_and_known_ones_are_wrong(path: Path) -> None:
    unknown, right = [], []
    for row in vectors(path):
        kinds = {hazard.kind for hazard in met(row)}
        if row["status"] == "0" and int(row["wrong_values"]) and not kinds & {"wrong-result", "inexact"}:
            unknown.append(row["id"])
        if row["status"] == "0" and "wrong-result" in kinds and not int(row["wrong_values"]):
            right.append(row["id"])
    assert unknown == []
    assert set(right) <= CLAMPED_AWAY


@pytest.mark.parametrize("path", VECTORS)
def test_no_result_is_off_by_more_than_its_bound(path: Path) -> None:
    """The bounds of sums hold for sums of any length."""
    checked = 0
    for row in vectors(path):
        taken = taken_by(row)
        if row["status"] != "0" or taken.hazards or not row["max_scaled_error"]:
            continue
        for kernel in taken.chain:
            for inexact in hazards_of(call_of(row).entry, kernel, target_of(row)):
                if inexact.bound is not None and (inexact in taken.inexact or inexact.bound.share):
                    bound = inexact.bound.of(taken.seen)
                    assert bound is not None
                    assert float(row["max_scaled_error"]) <= bound, (row["id"], inexact.id)
                    checked += 1
    assert checked > 20


def test_tanh_of_f16_is_off_by_no_more_than_its_bound() -> None:
    x = np.arange(0x4201, dtype=np.uint16).view(np.float16)  # 0 to 3, the numbers that are not taken for infinity
    square, three, nine = x * x, np.float16(27), np.float16(9)
    off = np.abs((x * (three + square) / (three + nine * square)).astype(np.float64) - np.tanh(x.astype(np.float64)))
    assert 0.0242 < off.max() < 0.0243


@pytest.mark.parametrize("path", VECTORS)
def test_overrun_buffers_are_known_and_known_ones_are_overrun(path: Path) -> None:
    cases = [*vectors(path)]
    assert cases
    for row in cases:
        if row["status"] == "0":
            overrun = int(row["overrun_scratch_bytes"]) + int(row["overrun_output_bytes"]) > 0
            assert overrun is any(hazard.kind == "overrun" for hazard in met(row)), row


@pytest.mark.parametrize("path", VECTORS)
def test_no_call_takes_more_of_its_buffer_than_is_said(path: Path) -> None:
    cases = [*vectors(path)]
    assert cases
    for row in cases:
        taken, given = taken_by(row), int(row["ctx_bytes"] or 0)
        if row["status"] == "0" and not any(hazard.kind == "overrun" for hazard in met(row)):
            assert taken.used is not None, row
            assert max(taken.used, 0) <= given, row


@needs_shared
def test_every_row_was_seen() -> None:
    seen = {hazard.id for row in vectors(SHARED) for hazard in met(row)}
    assert {hazard.id for hazard in hazards(FLOAT)} - seen == NOT_RECORDED
    assert set(FLOAT_ENTRIES) <= {call_of(row).entry for row in vectors(SHARED)}
