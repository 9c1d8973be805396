"""What a measured net says of the others of its board, against what its fit promised."""

from __future__ import annotations

import json
import sys

import pytest

from onnxlint_cmsis.timing.fit import ERROR_OF_TOTAL
from support.paths import ROOT, SHARED

RECORDS = json.loads((ROOT / "tests" / "data" / "calibrated_times.json").read_text())
ANSWERS = [record for record in RECORDS if "said_ms" in record]
TOTALS = [record for record in ANSWERS if record["promised"] == ERROR_OF_TOTAL]


def kept(record):
    return abs(record["said_ms"] / record["measured_ms"] - 1) <= record["promised"]


def test_nine_of_ten_nets_lie_within_what_the_fit_of_another_promised():
    assert len(TOTALS) > 700
    assert sum(map(kept, TOTALS)) >= 0.9 * len(TOTALS)


@pytest.mark.parametrize("cpu", sorted({record["cpu"] for record in TOTALS}))
def test_the_promise_holds_on_each_cpu(cpu):
    of_cpu = [record for record in TOTALS if record["cpu"] == cpu]
    assert sum(map(kept, of_cpu)) >= 0.9 * len(of_cpu)


def test_layers_that_were_measured_say_what_the_others_take():
    """A fit of depthwise layers alone cannot tell the memory of weights, and takes it from the tables."""
    layers = [record for record in ANSWERS if record["given"].endswith(")") and " layers (" in record["given"]]
    assert len(layers) == 8
    assert all(map(kept, layers))
    assert any(record["given"].endswith(" layers (depthwise)") for record in layers)


@pytest.mark.skipif(not (SHARED / "models").is_dir(), reason="the models of MLPerf Tiny are not there")
def test_the_answers_are_those_of_today():
    """A change of costs, factors or fits renews the file: python lab/calibrated_times.py FOLDER."""
    sys.path.insert(0, str(ROOT / "lab"))
    from calibrated_times import boards, records_of

    again = [record for group in boards(SHARED / "models" / "tflite") for record in records_of(group)]
    assert [(old["given"], old.get("asked")) for old in RECORDS] == [(new["given"], new.get("asked")) for new in again]
    for old, new in zip(RECORDS, again, strict=True):
        if "said_ms" in old:
            assert (old["said_ms"], old["promised"]) == pytest.approx((new["said_ms"], new["promised"]), rel=0.005)
