"""What the boards of a CPU say of one that took no part."""

from __future__ import annotations

import json
import sys

import pytest

from onnxlint_cmsis.timing.cores import core_of
from onnxlint_cmsis.timing.predicted_time import ONE_NUMBER
from support.paths import ROOT, SHARED

RECORDS = json.loads((ROOT / "tests" / "data" / "left_out.json").read_text())


BOARDS = {record["cpu"]: [row for row in RECORDS if row["cpu"] == record["cpu"]] for record in RECORDS}


@pytest.mark.parametrize("cpu", BOARDS)
def test_nine_of_ten_rows_of_a_board_that_took_no_part_lie_within(cpu):
    assert sum(record["held"] for record in BOARDS[cpu]) >= 0.9 * sum(record["rows"] for record in BOARDS[cpu])


@pytest.mark.parametrize("cpu", ["cortex-m7", "cortex-m55"])
def test_errors_leave_one_number_where_both_memories_are_known(cpu):
    assert core_of(cpu).error <= ONE_NUMBER


def test_ranges_of_cortex_m55_with_both_memories_known_are_narrow():
    assert all(record["width"] <= 0.15 for record in BOARDS["cortex-m55"])


def test_a_build_with_os_is_no_measurement_of_what_is_predicted():
    """The Makefile of STM32H745's firmware takes -Os for its release, which more than doubles an average pool."""
    rows = json.loads((ROOT / "tests" / "data" / "silicon_times.json").read_text())
    of_board = [row for row in rows if row["board"].startswith("STM32H745")]
    assert len(of_board) == 8
    assert {row["reason"] for row in of_board} == {"built with -O0 or -Os"}


@pytest.mark.skipif(not (SHARED / "models").is_dir(), reason="the models of MLPerf Tiny are not there")
def test_the_figures_are_those_of_today():
    """A change of costs or factors renews the file: python lab/left_out.py FOLDER."""
    sys.path.insert(0, str(ROOT / "lab"))
    from left_out import points, records

    assert [*records([*points(SHARED / "models" / "tflite")])] == RECORDS
