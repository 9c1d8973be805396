"""What real releases did under QEMU is what routes and hazards say: kernel, status, wrong values, overruns."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.cmsis_nn.library import Route
from support import paths
from support.linter import analysed
from support.targets import target_of

FOLDER = paths.SHARED / "cases" / "device"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs the device's observations in a folder `shared`")


@cache
def observations() -> list[dict[str, Any]]:
    with (FOLDER / "truth.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def analysis(model: str) -> ModelAnalysis:
    return analysed(FOLDER / "models" / model)


def routes(row: dict[str, Any]) -> list[Route]:
    target, model = target_of(row["cpu"], row["release"]), analysis(row["model"])
    return [model.route(layer.call, target) for layer in model.lowered.layers]


def of_kinds(row: dict[str, Any], *kinds: str) -> list[str]:
    return [hazard.id for route in routes(row) for hazard in route.hazards if hazard.kind in kinds]


def test_there_are_799_observations_of_148_models() -> None:
    assert (len(observations()), len({row["model"] for row in observations()})) == (799, 148)


def test_the_kernel_that_ran_is_the_one_that_is_named() -> None:
    cases = [*observations()]
    assert cases
    for row in cases:
        assert row["kernel"] in {kernel for route in routes(row) for kernel in (*route.chain, route.effective)}, row


def test_a_status_other_than_success_is_a_known_error_and_the_other_way_round() -> None:
    cases = [*observations()]
    assert cases
    for row in cases:
        assert (row["status"] != 0) is bool(of_kinds(row, "returns-error")), row
        assert row["status"] in {route.status for route in routes(row)}, row


def test_wrong_values_and_overwritten_memory_are_known() -> None:
    cases = [*observations()]
    assert cases
    for row in cases:
        if row["wrong"] or row["overrun"]:
            assert of_kinds(row, "returns-error", "wrong-result", "overrun", "too-large"), row


def test_a_known_defect_is_seen_on_the_device() -> None:
    cases = [*observations()]
    assert cases
    for row in cases:
        if of_kinds(row, "returns-error", "wrong-result", "overrun"):
            assert row["status"] or row["wrong"] or row["overrun"], row
