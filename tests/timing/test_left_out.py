"""What the boards of a CPU say of one that took no part."""

from __future__ import annotations

import json
import sys

import pytest

from support.paths import ROOT, SHARED

RECORDS = json.loads((ROOT / "tests" / "data" / "left_out.json").read_text())


def test_seven_of_ten_rows_of_a_board_that_took_no_part_lie_within():
    """The page of time says the number itself; a change of factors must not make it worse unseen."""
    assert sum(record["held"] for record in RECORDS) >= 0.7 * sum(record["rows"] for record in RECORDS)
    m55 = [record for record in RECORDS if record["cpu"] == "cortex-m55"]
    assert sum(record["held"] for record in m55) >= 0.8 * sum(record["rows"] for record in m55)


@pytest.mark.parametrize("cpu", ["cortex-m7", "cortex-m55"])
def test_ranges_with_both_memories_known_are_narrow(cpu):
    assert all(record["width"] <= 0.15 for record in RECORDS if record["cpu"] == cpu)


@pytest.mark.skipif(not (SHARED / "models").is_dir(), reason="the models of MLPerf Tiny are not there")
def test_the_figures_are_those_of_today():
    """A change of costs or factors renews the file: python lab/left_out.py FOLDER."""
    sys.path.insert(0, str(ROOT / "lab"))
    from left_out import points, records

    assert [*records([*points(SHARED / "models" / "tflite")])] == RECORDS
