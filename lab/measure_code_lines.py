"""Makes tests/data/code_lines.json: python lab/measure_code_lines.py CMSIS_NN.

Counts the lines of code that convolutions and depthwise layers fetch on Cortex-M4, through caches of several sizes that
lose what was used longest ago. The library is built as in the firmware check (gcc, -O3) and runs under QEMU; the
plugin lab/count_code_lines.c counts from one entry of a function to the next, so that a call follows an equal one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firmware_check import emulator
from firmware_check.boards import Board
from firmware_check.build import Bench
from firmware_check.library import open_library
from firmware_check.options import board_named
from firmware_check.sweep import measure
from firmware_check.swept_calls import DEFAULTS, KINDS
from onnxlint_cmsis.cmsis_nn.library import route
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair

LAB = Path(__file__).parent
FILE = LAB.parent / "tests" / "data" / "code_lines.json"
LINE = 32
"""Bytes of a line of the flash of STM32L4, and two lines of STM32F4's."""
KIB = (1, 2, 4, 8, 16)
"""Sizes of the caches."""
CALLS = 3
"""Of each shape; the last but one is counted, behind an equal one."""
STEMS = {"conv": "convolve", "dw": "depthwise"}

Row = dict[str, Any]


def convolution(kind: str, side: int, channels: tuple[int, int], window: tuple[int, int] = (3, 3), **more: int) -> Row:
    """A row of a sweep, padded so that the output is as large as the input, over its stride."""
    stride = more.get("stride", 1)
    height = 1 if window[0] == 1 < window[1] else side
    sizes = dict(zip(("kh", "kw"), window, strict=True))
    pads = {"pad_h": window[0] // 2, "pad_w": window[1] // 2}
    places = {"out_h": (height - 1) // stride + 1, "out_w": (side - 1) // stride + 1}
    rest = {"stride_h": stride, "stride_w": stride, "ch_mult": more.get("ch_mult", 0), "reps": CALLS}
    return {**DEFAULTS, "kind": kind, "h": height, "w": side, "in_c": channels[0], "out_c": channels[1]} | {
        **sizes, **pads, **places, **rest,
    }  # fmt: skip


ROWS = (
    *(convolution("conv", 8, channels) for channels in ((3, 8), (4, 16), (8, 8), (16, 32), (32, 64), (30, 31))),
    convolution("conv", 16, (1, 4)),
    convolution("conv", 16, (3, 16), stride=2),
    convolution("conv", 10, (8, 16), (5, 5)),
    convolution("conv", 24, (1, 8), (10, 4), stride=2),
    convolution("conv", 8, (32, 64), (1, 1), stride=2),
    *(convolution("conv", 8, channels, (1, 1)) for channels in ((16, 32), (64, 64), (7, 9))),
    *(convolution("conv", 32, channels, (1, 5)) for channels in ((16, 16), (40, 12))),
    *(convolution("dw", 10, (count, count), ch_mult=1) for count in (3, 8, 16, 32, 64)),
    convolution("dw", 16, (16, 16), stride=2, ch_mult=1),
    *(convolution("dw", 10, (count, count), (5, 5), ch_mult=1) for count in (4, 16, 32)),
    *(convolution("dw", 10, (count, count * times), ch_mult=times) for count, times in ((1, 8), (4, 2), (8, 4))),
    *(convolution("conv_s16", 8, channels) for channels in ((4, 16), (16, 32), (8, 9))),
    convolution("conv_s16", 8, (16, 32), (1, 1)),
    *(convolution("dw_s16", 10, (count, count), ch_mult=1) for count in (4, 16, 32)),
    convolution("dw_s16", 10, (8, 16), ch_mult=2),
    *(convolution("conv_s4", 8, channels) for channels in ((8, 8), (16, 32))),
    convolution("dw_s4", 10, (16, 16), ch_mult=1),
)


def counted(kind: str, rows: list[Row], bench: Bench, folder: Path) -> Iterator[tuple[int, list[int]]]:
    """Instructions of a call of each row, and the lines that it fetches through each cache."""
    plugin, counts, usual = folder / "lines.so", folder / "counts", emulator.command_line
    source = LAB / "count_code_lines.c"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", str(source), "-o", str(plugin)], check=True)

    def counting(image: Path, board: Board) -> list[str]:
        names = subprocess.run(["arm-none-eabi-nm", str(image)], capture_output=True, text=True, check=True).stdout
        entry = next(line.split()[0] for line in names.splitlines() if line.endswith(f" {KINDS[kind].function}"))
        sizes = ":".join(str(size << 10) for size in KIB)
        return [*usual(image, board), "-plugin", f"{plugin},mark={entry},line={LINE},sizes={sizes},out={counts}"]

    emulator.command_line = counting
    try:
        measure(rows, bench, folder)
    finally:
        emulator.command_line = usual
    for line in counts.read_text().splitlines()[CALLS - 1 :: CALLS]:
        instructions, *lines = map(int, line.split())
        yield instructions, lines


def call_of(row: Row) -> KernelCall:
    """The call of a row, as the linter knows it."""
    name, _, types = row["kind"].partition("_")
    weights = (1, row["kh"], row["kw"], row["out_c"])
    return KernelCall(
        f"{STEMS[name]}_{types or 's8'}",
        Dims(row["n"], row["h"], row["w"], row["in_c"]),
        Dims(*weights) if name == "dw" else Dims(row["out_c"], row["kh"], row["kw"], row["in_c"]),
        Dims(row["n"], row["out_h"], row["out_w"], row["out_c"]),
        Pair(row["stride_h"], row["stride_w"]),
        Pair(row["pad_h"], row["pad_w"]),
        Pair(row["pad_h"], row["pad_w"]),
        ch_mult=row["ch_mult"],
    )


def records(library: str) -> Iterator[Row]:
    """What each row fetches, by its kernel."""
    bench = Bench(board_named("cortex-m4"), open_library(library), 600.0)
    for kind in dict.fromkeys(row["kind"] for row in ROWS):
        rows = [row for row in ROWS if row["kind"] == kind]
        with tempfile.TemporaryDirectory() as folder:
            answers = list(counted(kind, rows, bench, Path(folder)))
        for row, (instructions, lines) in zip(rows, answers, strict=True):
            call = call_of(row)
            yield {
                "kernel": route(call, bench.target).effective,
                "input": [row["h"], row["w"], row["in_c"]],
                "window": [row["kh"], row["kw"], row["stride_h"]],
                "output": [row["out_h"], row["out_w"], row["out_c"]],
                "instructions": instructions,
                "lines": dict(zip(map(str, KIB), lines, strict=True)),
            }


def main(argv: list[str]) -> int:
    """Write the file, and print lines of a pixel by kernel."""
    (library,) = argv
    kept = list(records(library))
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n")
    for record in kept:
        pixels = record["output"][0] * record["output"][1]
        by_pixel = " ".join(f"{count / pixels:8.2f}" for count in record["lines"].values())
        print(f"{record['kernel']:40} {record['input']} {record['window']} {record['output']}: {by_pixel}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
