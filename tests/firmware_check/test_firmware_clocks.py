"""The clock of each emulated board: what QEMU says of it, and instructions that a plugin counts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from statistics import median

import pytest

from firmware_check import emulator
from firmware_check.boards import BOARDS, Board
from firmware_check.build import Bench
from firmware_check.library import open_library
from firmware_check.sweep import measure
from firmware_check.swept_calls import DEFAULTS
from support import paths
from support.firmware_runs import needs_firmware

pytestmark = needs_firmware

PLUGIN = paths.ROOT / "lab" / "count_instructions.c"
FUNCTION, CALLS = "arm_fully_connected_s8", 40
HERTZ = {"Hz": 1, "KHz": 1_000, "MHz": 1_000_000, "GHz": 1_000_000_000}
each_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.cpu)


@each_board
def test_the_clock_of_a_board_is_what_qemu_says_of_it(board: Board) -> None:
    command = ["qemu-system-arm", "-M", board.machine, "-S", "-display", "none", "-nodefaults", "-monitor", "stdio"]
    said = subprocess.run(command, input="info qtree\nquit\n", capture_output=True, text=True, check=True).stdout
    core = said.partition("dev: armv7m, ")[2]
    number, unit = re.findall(r'clock-in "cpuclk" freq_hz=([\d.]+) (\w+)', core)[0]
    assert float(number) * HERTZ[unit] == board.clock


@pytest.mark.skipif(shutil.which("gcc") is None, reason="this machine has no gcc for a plugin of QEMU")
@each_board
def test_a_call_takes_the_instructions_that_a_plugin_counts(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of the clock, in instructions, against those from one entry into a function to the next.

    What begins and ends the measurement takes a few instructions more.
    """
    plugin, counts, usual = tmp_path / "count.so", tmp_path / "counts", emulator.command_line
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(PLUGIN), "-o", str(plugin)], check=True)

    def counting(image: Path, run_on: Board) -> list[str]:
        names = subprocess.run(["arm-none-eabi-nm", str(image)], capture_output=True, text=True, check=True).stdout
        address = next(line.split()[0] for line in names.splitlines() if line.endswith(f" {FUNCTION}"))
        return [*usual(image, run_on), "-plugin", f"{plugin},mark={address},begin=0,end=0,out={counts}"]

    monkeypatch.setattr(emulator, "command_line", counting)
    row = {**DEFAULTS, "kind": "fc", "in_c": 64, "out_c": 24, "out_h": 1, "out_w": 1, "reps": CALLS}
    (measured,) = measure([row], Bench(board, open_library(""), 60.0), tmp_path)
    between = median(map(int, counts.read_text().split()))
    assert between > 1000
    assert measured["instructions"] == pytest.approx(between, rel=0.005)
