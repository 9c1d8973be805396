"""Holds verdicts against runs: `.tflite` files of one operator in PyPI's `tflite-micro` and in LiteRT.

`python lab/zoo_tflite.py COUNT [SEED] [OPERATOR...]` draws COUNT files of each operator that TensorFlow Lite Micro
registers, in each form: as drawn, with an unknown batch, with one size of a result stated otherwise, and with a result
of another type. It prints each file whose run contradicts the verdict, each that is told to be wrong and gives the
desktop's values on the inputs drawn, and how often each pair of verdict and run came. Needs the extra `tflite`. Returns
1 for a contradiction.

PyPI's `tflite-micro` has reference kernels and no checks of debug builds.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.tflm_drafts import OPERATORS  # type: ignore[import-not-found] # noqa: E402
from support.tflm_zoo import animals  # type: ignore[import-not-found] # noqa: E402

HELD = {None: "not held against values", True: "values equal", False: "values differ"}
"""Whether values are those of the desktop, in words."""


def main(count: str, seed: str = "0", *operators: str) -> int:
    """Print contradictions and figures; 1 where a run contradicts a verdict."""
    figures: Counter[str] = Counter()
    contradictions = 0
    for animal in animals(int(count), int(seed), operators or OPERATORS):
        told = "wrong" if animal.wrong and animal.report.status == "ok" else animal.report.status
        figures[f"{animal.form}: told {told}, {animal.device.outcome}, {HELD[animal.equal]}"] += 1
        contradictions += bool(animal.contradiction)
        by_chance = "told to be wrong, and equal" if told == "wrong" and animal.equal else ""
        what = animal.contradiction or by_chance
        if what:
            reasons = [row.reason for row in animal.report.operators if row.reason]
            said = animal.report.stop or "; ".join(reasons)
            print(f"{animal.op} {animal.seed} ({animal.form}): {what}: {said}", flush=True)
    for text, number in sorted(figures.items()):
        print(number, text)
    print(f"{sum(figures.values())} files, {contradictions} contradictions", file=sys.stderr)
    return int(contradictions > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
