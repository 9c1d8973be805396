"""Random files held against PyPI's TensorFlow Lite Micro: python tests/support/tflm_agreement.py COUNT [SEED].

COUNT files of each operator; figures by operator, and what disagrees.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from onnxlint_cmsis.formats.tflite.read import read_tflite
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.interpret import interpret
from onnxlint_cmsis.runtimes.tflm.verdicts import TflmReport
from support.targets import target_of
from support.tflm_drafts import OPERATORS, random_file
from support.tflm_wheel import outcomes

REFERENCE = TflmBuild(target_of("cortex-m4", "main"), checks=False, with_cmsis_nn=False)
"""The wheel's build: NDEBUG, and no CMSIS-NN."""
OPTIMIZED = REFERENCE._replace(with_cmsis_nn=True)
STATUS = {"ok": "runs", "alloc_error": "allocate_fails", "invoke_error": "invoke_fails", "halt": "aborts"}
AT_ONCE = 100
"""Files of one process."""


class Held(NamedTuple):
    """One file."""

    op: str
    """Operator that it was drawn for."""
    seed: int
    """Seed."""
    outcome: str
    """What the wheel does: `runs`, `allocate_fails`, `invoke_fails` or `aborts`."""
    printed: str
    """What the wheel prints."""
    report: TflmReport
    """What is said of the file."""

    @property
    def verdict(self) -> str:
        """What is said of the file, in the words of `outcome`; `undecided` for memory that is not a tensor's."""
        return STATUS.get(self.report.status, self.report.status)

    @property
    def agrees(self) -> bool:
        """Whether both are one, or nothing is said."""
        return self.verdict in (self.outcome, "undecided")

    @property
    def places(self) -> tuple[str, str]:
        """Source files that the wheel names and that the reason names; empty where one names none."""
        files = re.findall(r"/([a-z0-9_]+)\.cc:\d+ ", self.printed)
        named = re.search(r"kernels/([a-z0-9_]+)\.cc:\d+\)", self.report.stop or "")
        dropped = any(operator.own for operator in self.report.operators)
        return (files[-1], named[1]) if files and named and not dropped else ("", "")


def held(count: int, seed: int = 0, ops: Iterable[str] = OPERATORS) -> Iterator[Held]:
    """`count` files of each operator, from seed `seed` on."""
    drawn = [(op, number) for op in ops for number in range(seed, seed + count)]
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, len(drawn), AT_ONCE):
            part = drawn[start : start + AT_ONCE]
            files = [Path(folder) / f"{op}_{number}.tflite" for op, number in part]
            for file, (op, number) in zip(files, part, strict=True):
                file.write_bytes(random_file(number, op))
            for file, (op, number), text in zip(files, part, outcomes(files), strict=True):
                outcome, _, printed = text.partition(" ")
                report = interpret(read_tflite(file), REFERENCE)
                yield Held(op, number, outcome, printed, report)
                file.unlink()


def main(count: int, seed: int = 0) -> None:
    """Print the figures."""
    figures: dict[str, Counter[str]] = {}
    for file in held(count, seed):
        word = "undecided" if file.verdict == "undecided" else "agree" if file.agrees else "disagree"
        figures.setdefault(file.op, Counter())[word] += 1
        if not file.agrees:
            print(f"{file.op} {file.seed}: {file.outcome}, not {file.verdict}: {file.printed} | {file.report.stop}")
        if file.places[0] != file.places[1]:
            print(f"{file.op} {file.seed}: {file.printed} | {file.report.stop}")
    for op, counts in figures.items():
        print(op, dict(counts))
    print(dict(sum(figures.values(), Counter())))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
