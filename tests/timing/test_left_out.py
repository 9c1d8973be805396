"""What the boards of a CPU say of one that took no part."""

from __future__ import annotations

import json
import sys
from math import ceil

import pytest

from onnxlint_cmsis.timing.cores import CORES, core_of
from onnxlint_cmsis.timing.predicted_time import ONE_NUMBER
from support.paths import ROOT, SHARED

RECORDS = json.loads((ROOT / "tests" / "data" / "left_out.json").read_text())

KINDS = {
    (cpu, kind): [record for record in RECORDS if (record["cpu"], record["kind"]) == (cpu, kind)]
    for cpu, kind in dict.fromkeys((record["cpu"], record["kind"]) for record in RECORDS)
}


@pytest.mark.parametrize(("cpu", "kind"), KINDS)
def test_nine_of_ten_rows_of_what_took_no_part_lie_within(cpu, kind):
    """Of a board, a source, a runtime or a net that is left out."""
    left = KINDS[cpu, kind]
    assert sum(record["held"] for record in left) >= 0.9 * sum(record["rows"] for record in left)


def test_rows_of_each_cpu_were_left_out_in_each_way():
    """So that no test of KINDS is empty; Cortex-M85 has one board of one source."""
    kinds = {core.cpu: {kind for cpu, kind in KINDS if cpu == core.cpu} for core in CORES}
    every = {"board", "source", "runtime", "net"}
    assert kinds == {core.cpu: {"net"} if core.cpu == "cortex-m85" else every for core in CORES}
    assert all(record["rows"] == len(record["needed"]) >= 1 for record in RECORDS)


def test_all_cpus_but_cortex_m85_have_a_second_board():
    assert {cpu for cpu, kind in KINDS if kind == "board"} == {core.cpu for core in CORES} - {"cortex-m85"}


@pytest.mark.parametrize(("cpu", "kind"), KINDS)
def test_errors_are_above_what_nine_of_ten_rows_that_took_no_part_need(cpu, kind):
    needed = sorted(number for record in KINDS[cpu, kind] for number in record["needed"])
    assert needed[ceil(0.9 * len(needed)) - 1] <= core_of(cpu).error


@pytest.mark.parametrize("cpu", ["cortex-m7", "cortex-m55"])
def test_errors_leave_one_number_where_both_memories_are_known(cpu):
    assert core_of(cpu).error <= ONE_NUMBER


def test_ranges_of_cortex_m55_with_both_memories_known_are_narrow():
    assert all(record["width"] <= 0.15 for record in KINDS["cortex-m55", "board"])


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
