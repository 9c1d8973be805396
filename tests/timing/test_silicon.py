"""Public measurements on silicon against the times that are predicted for them."""

from __future__ import annotations

import csv
import json

import pytest

from onnxlint_cmsis.timing.cores import CORES
from support.paths import ROOT, SHARED

TIMES = json.loads((ROOT / "tests" / "data" / "silicon_times.json").read_text())
PREDICTED = [row for row in TIMES if row["predicted_ms"]]


def held(row):
    low, high = row["predicted_ms"]
    return low <= row["measured_ms"] <= high


def test_nine_of_ten_measurements_lie_within_their_range():
    assert len(PREDICTED) > 100
    assert sum(map(held, PREDICTED)) >= 0.9 * len(PREDICTED)


def test_nine_of_ten_measurements_of_each_cpu_and_memory_lie_within():
    """Of those with twenty rows: builds for XIP disagree most, as each sets the clock of the flash."""
    groups = {}
    for row in PREDICTED:
        groups.setdefault((row["cpu"], row["weights"]), []).append(held(row))
    many = {key: rows for key, rows in groups.items() if len(rows) >= 20}
    assert {*many} == {("cortex-m0+", "xip"), ("cortex-m4", "flash"), ("cortex-m33", "flash"), ("cortex-m33", "xip")}
    assert [key for key, rows in many.items() if sum(rows) < 0.9 * len(rows)] == []


def test_no_time_is_one_number_where_builds_for_its_memory_disagree():
    on_rp2350 = [row for row in PREDICTED if "RP2350" in row["board"]]
    assert len(on_rp2350) > 20
    assert [row["what"] for row in on_rp2350 if row["number"]] == []


def test_boards_that_took_no_part_in_any_figure_lie_within():
    """28 nets of MicroAI_Benchmark; those of 16 bits have a depthwise function of unknown cost."""
    boards = ("Arduino Nano 33 BLE (nRF52840)", "NUCLEO-L552ZE-Q")
    rows = [row for row in PREDICTED if row["board"] in boards]
    assert (len(rows), sum(map(held, rows))) == (28, 28)


def test_half_the_range_is_at_most_15_percent_on_m55_and_m7_with_kernels_and_memories_known():
    """Beside sums, products, softmax and s4; a line of XIP has twice the error, and a net below 1 ms its runtime."""
    others = ("elementwise", "_s4", "add", "mul", "single-operator")
    rows = [
        row for row in PREDICTED
        if row["cpu"] in ("cortex-m7", "cortex-m55") and "unknown" not in (row["weights"], row["arena"])
        and row["weights"] != "xip" and row["measured_ms"] >= 1 and not any(word in row["what"] for word in others)
    ]  # fmt: skip
    widths = [(high - low) / (high + low) for low, high in (row["predicted_ms"] for row in rows)]
    assert len(rows) > 25
    assert sum(round(width, 2) <= 0.15 for width in widths) >= 0.95 * len(widths)


def test_every_cpu_with_factors_was_measured():
    assert {row["cpu"] for row in PREDICTED} == {core.cpu for core in CORES}


def test_every_row_has_a_prediction_or_says_why_not():
    with (ROOT / "tests" / "data" / "silicon.csv").open(newline="") as file:
        sources = list(csv.DictReader(file))
    assert len(sources) == len(TIMES)
    assert [bool(row["reason"]) for row in TIMES] == [not row["predicted_ms"] for row in TIMES]


@pytest.mark.skipif(not (SHARED / "models").is_dir(), reason="the models of MLPerf Tiny are not there")
def test_the_predictions_are_those_of_today():
    """A change of costs or factors renews the file: python lab/silicon_times.py FOLDER."""
    import sys

    sys.path.insert(0, str(ROOT / "lab"))
    from silicon_times import record_of, rows

    again = [record_of(row, SHARED / "models" / "tflite") for row in rows()]
    for old, new in zip(TIMES, again, strict=True):
        assert (old["what"], old["reason"]) == (new["what"], new["reason"])
        assert (old["predicted_ms"] or []) == pytest.approx(new["predicted_ms"] or [], rel=0.005)
