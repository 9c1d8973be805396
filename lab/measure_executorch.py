"""Counts the instructions of ExecuTorch's own code for copies, look-ups and quantization.

`python lab/measure_executorch.py BUILD CPU LIBRARY FLAG...`: LIBRARY is an archive of its runtime with the kernels of
kernels/portable/cpu and backends/cortex_m/ops, as the tree's own CMake builds them. FLAGs go to arm-none-eabi-g++:
those that chose the CPU for the library, and `-I` and `-D` as the tree has them. Each call of RECORDS runs under QEMU
on PATTERNS of data; a plugin counts what it retires. The least and the most of each call go into RECORDS under the
name BUILD, such as `dsp -O3 nano`, for lab/fit_executorch.py; it ends in `sp` for a floating-point unit of Cortex-M7
for 32 bits alone.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from firmware_check.boards import Board
from firmware_check.options import board_named
from measure_tflm_reference import ROOT, TOLD, counted, image_of
from onnxlint_cmsis.formats.pte.program_records import PteTensor
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.runtimes.executorch.cost import SINCE, own_range
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH, Runtime

RECORDS = ROOT / "tests" / "data" / "cost_executorch.jsonl.gz"
PROGRAM = Path(__file__).with_suffix(".cc")
PATTERNS = 4
NAMES = {name.rpartition("::")[2]: name for name in SINCE}
"""Operators by the name in the records."""


def records() -> list[dict[str, Any]]:
    """The measured calls, with the least and the most instructions by build.

    A call has an operator, types and orders of memory of both tensors, sizes of the input and the order of its axes.
    """
    with gzip.open(RECORDS, "rt") as lines:
        return [json.loads(line) for line in lines]


def tensors_of(row: dict[str, Any]) -> tuple[PteTensor, PteTensor]:
    """The tensor that a recorded call reads, and the one that it writes."""
    (kind, new_kind), (order, new_order) = row["types"], row["orders"]
    sizes = [row["sizes"][axis] for axis in row["axes"]]
    source = PteTensor(kind, tuple(row["sizes"]), tuple(order), None, "", 1, 0, dynamic=False)
    result = PteTensor(new_kind, tuple(sizes), tuple(new_order), None, "", 1, 0, dynamic=False)
    return source, result


def spans_of(row: dict[str, Any]) -> dict[str, list[int]]:
    """Least and most instructions of a recorded call in all builds, by core."""
    ends: dict[str, list[int]] = {}
    for build, measured in row["instructions"].items():
        ends.setdefault(build.split()[0], []).extend(measured)
    return {core: [min(instructions), max(instructions)] for core, instructions in ends.items()}


def range_of(row: dict[str, Any], target: Target, runtime: Runtime = EXECUTORCH) -> tuple[int, int] | None:
    """Least and most predicted instructions of a recorded call; None for what was not measured."""
    return own_range(NAMES.get(row["op"], row["op"]), *tensors_of(row), target, runtime)


def measured(rows: list[dict[str, Any]], board: Board, library: str, flags: list[str]) -> dict[int, list[int]]:
    """Instructions of each call on each pattern of data, by the call's number; a call that fails is left out."""
    lines = [
        [row["op"], *row["types"], len(row["sizes"]), *row["sizes"], *row["orders"][0], *row["orders"][1], *row["axes"]]
        for row in rows
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "calls").write_text("".join(f"{' '.join(map(str, line))}\n" for line in lines))
        image = image_of(PROGRAM, folder, board, library, [f"-DPATTERNS={PATTERNS}", *flags])
        printed, marks = counted(image, folder, board)
    results: dict[int, list[int]] = {}
    for line, instructions in zip(filter(TOLD.fullmatch, printed.splitlines()), marks[1::2], strict=True):
        number, failure = map(int, line.split())
        if not failure:
            results.setdefault(number, []).append(instructions)
    return results


def main(build: str, cpu: str, library: str, *flags: str) -> int:
    """Measure all calls and record them."""
    rows = records()
    try:
        results = measured(rows, board_named(cpu), str(Path(library).resolve()), list(flags))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 2
    for number, instructions in results.items():
        rows[number]["instructions"][build] = [min(instructions), max(instructions)]
    RECORDS.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode(), mtime=0))
    print(f"{len(results)} of {len(rows)} calls ran", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
