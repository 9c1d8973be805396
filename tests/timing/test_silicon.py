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
