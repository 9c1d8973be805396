"""Measures the fast functions for q7 and q15 against the basic ones; writes cmsis_nn/measured_pairs.json.

`python lab/measure_legacy.py DIR...` with checkouts of CMSIS 5; needs arm-none-eabi-gcc and qemu-system-arm.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from firmware_check.build import Bench
from firmware_check.execution import execute
from firmware_check.legacy.cmsis_5 import open_cmsis_5
from firmware_check.legacy.legacy_call import legacy_step
from firmware_check.options import board_named
from firmware_check.program import side_by_side
from measure_evidence import table_with
from onnxlint_cmsis.checks.measured_gain import pair_values
from onnxlint_cmsis.checks.rules.conv_legacy_fast import RULE, run
from onnxlint_cmsis.cmsis_nn.measured_pairs import PAIRS, Evidence
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair

CPU = "cortex-m4"
WIDER = {
    "q7": (
        ((6, 8), (8, 8)), ((7, 8), (8, 8)), ((5, 8), (8, 8)), ((8, 7), (8, 8)), ((6, 7), (8, 8)), ((14, 16), (16, 16)),
        ((13, 16), (16, 16)), ((16, 15), (16, 16)), ((30, 32), (32, 32)), ((1, 8), (4, 8)), ((2, 8), (4, 8)),
    ),
    "q15": (((7, 8), (8, 8)), ((8, 7), (8, 8)), ((15, 16), (16, 16)), ((1, 8), (2, 8)), ((3, 8), (4, 8))),
}  # fmt: skip
"""Data type to channels in and out, before and after."""
SIZES = {"q7": (4, 8, 16), "q15": (4, 8, 16)}
Pairs = list[tuple[KernelCall, KernelCall]]
TOGETHER = 60
"""Calls in one firmware."""


def convolution(kind: str, size: int, channels: tuple[int, int], taps: int) -> KernelCall:
    """A square layer that keeps its plane."""
    (in_c, out_c), pad = channels, taps // 2
    return KernelCall(
        f"convolve_{kind}", Dims(1, size, size, in_c), Dims(out_c, taps, taps, in_c), Dims(1, size, size, out_c),
        padding=Pair(pad, pad), pad_after=Pair(pad, pad),
    )  # fmt: skip


def pairs(kind: str) -> Pairs:
    """Layers before and after the pad."""
    return [
        (convolution(kind, size, before, taps), convolution(kind, size, after, taps))
        for taps in (1, 3, 5)
        for size in SIZES[kind]
        for before, after in WIDER[kind]
    ]


def changes(bench: Bench, pairs: Pairs) -> list[float]:
    """Change of instructions of each pair, in percent."""
    steps = [legacy_step(f"call {number}", call, bench.target) for number, call in enumerate(sum(pairs, ()))]
    instructions: list[int] = []
    for first in range(0, len(steps), TOGETHER):
        some = steps[first : first + TOGETHER]
        program, given = (
            side_by_side([layer.step for layer in some]),
            [array for layer in some for array in layer.sources],
        )
        with tempfile.TemporaryDirectory() as folder:
            done = execute(program, bench, Path(folder), "pairs", [given])
        instructions += [report.instructions for report in done.plain.layers]
    return [
        100 * (after - before) / before for before, after in zip(instructions[::2], instructions[1::2], strict=True)
    ]


def evidence(bench: Bench) -> Iterator[Evidence]:
    """The rows of one release."""
    release, isa = bench.target.release, bench.target.isa.value
    for kind in WIDER:
        calls = pairs(kind)
        measured = list(zip(calls, changes(bench, calls), strict=True))
        for inside in (True, False):
            some = [change for pair, change in measured if run.gain.region.evaluate(pair_values(*pair)) is inside]
            if some:
                faster = sum(change < 0 for change in some)
                yield Evidence(
                    RULE.name, f"convolve_{kind}", release, isa, inside, len(some), faster, round(median(some), 1),
                    round(max(some), 1),
                )  # fmt: skip


def main(folders: list[str]) -> None:
    """Measure and write."""
    rows = [row for folder in folders for row in evidence(Bench(board_named(CPU), open_cmsis_5(folder), 600.0, jobs=1))]
    PAIRS.write_text(table_with(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
