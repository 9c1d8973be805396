"""Measures ExecuTorch's own code for copies, look-ups and quantization: measure_executorch.py CPU LIBRARY FLAG...

LIBRARY is an archive of its runtime with the kernels of kernels/portable/cpu and backends/cortex_m/ops, as the tree's
own CMake builds them. FLAGs go to arm-none-eabi-g++: those that chose the CPU for the library, and `-I` and `-D` as the
tree has them. Each call of tests/data/cost_executorch.jsonl.gz runs under QEMU on four patterns of data. A line for
each has the least and the most instructions of a call and the range of runtimes/executorch/cost.py. Returns 1 where a
call lies outside.
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
from measure_tflm_reference import ROOT, SECONDS, image_of
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.formats.pte.program_records import PteTensor
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.runtimes.executorch.cost import SINCE, own_range
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH, Runtime

CALLS = ROOT / "tests" / "data" / "cost_executorch.jsonl.gz"
PROGRAM = Path(__file__).with_suffix(".cc")
NAMES = {name.rpartition("::")[2]: name for name in SINCE}
"""Operators by the name in the records."""


def recorded() -> list[dict[str, Any]]:
    """The measured calls: operator, types and orders of memory of both tensors, sizes of the input, order of axes."""
    with gzip.open(CALLS, "rt") as lines:
        return [json.loads(line) for line in lines]


def range_of(row: dict[str, Any], target: Target, runtime: Runtime = EXECUTORCH) -> tuple[int, int] | None:
    """Least and most instructions of a recorded call; None for what was not measured."""
    (kind, new_kind), (order, new_order) = row["types"], row["orders"]
    sizes = [row["sizes"][axis] for axis in row["axes"]]
    source = PteTensor(kind, tuple(row["sizes"]), tuple(order), None, "", 1, 0, dynamic=False)
    result = PteTensor(new_kind, tuple(sizes), tuple(new_order), None, "", 1, 0, dynamic=False)
    return own_range(NAMES.get(row["op"], row["op"]), source, result, target, runtime)


REPETITIONS, PATTERNS = 4, 4
"""Calls on each pattern of data, and patterns."""


def counted(calls: bytes, board: Board, library: str, flags: list[str]) -> dict[int, list[float]]:
    """Instructions of each call on each pattern of data, from the program's lines of a number, SysTick's count and 0.

    Another status than 0 leaves a call out.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "calls").write_bytes(calls)
        numbers = [f"-DPATTERNS={PATTERNS}", f"-DREPETITIONS={REPETITIONS}"]
        image = image_of(PROGRAM, folder, board, library, [*numbers, *flags])
        machine = ["qemu-system-arm", "-M", board.machine, "-semihosting", "-icount", "shift=0", "-nographic"]
        run = [*machine, "-monitor", "none", "-kernel", str(image)]
        text = subprocess.run(run, cwd=folder, timeout=SECONDS, capture_output=True, check=True, text=True).stdout
    results: dict[int, list[float]] = {}
    for words in map(str.split, text.splitlines()):
        if len(words) == 3 and words[2] == "0":
            results.setdefault(int(words[0]), []).append(board.instructions(int(words[1])) / REPETITIONS)
    return results


def main(cpu: str, library: str, *flags: str) -> int:
    """Measure all calls and compare them with their ranges."""
    rows = recorded()
    lines = [
        [row["op"], *row["types"], len(row["sizes"]), *row["sizes"], *row["orders"][0], *row["orders"][1], *row["axes"]]
        for row in rows
    ]
    calls = "".join(f"{' '.join(map(str, line))}\n" for line in lines).encode()
    try:
        results = counted(calls, board_named(cpu), str(Path(library).resolve()), list(flags))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 2
    outside = 0
    for number, instructions in sorted(results.items()):
        least, most = min(instructions), max(instructions)
        told = range_of(rows[number], parse_target(cpu))
        outside += told is not None and not told[0] <= least <= most <= told[1]
        print(json.dumps({**rows[number], "instructions": [least, most], "range": told}))
    print(f"{len(results)} of {len(rows)} calls ran; {outside} lie outside of their range", file=sys.stderr)
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
