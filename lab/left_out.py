"""Makes tests/data/left_out.json: python lab/left_out.py FOLDER.

Leaves rows of one board out, or of one source, runtime or net, scales the factors of its CPU to the others, and asks
whether the range that follows holds what was measured. The scale is the median of rows of which instructions take
MOSTLY of the time or more: the others tell of memory. The proportions of kernels, the errors and the costs of memories
stay those of the tables. FOLDER is that of lab/silicon_times.py. It prints the error of each CPU with which nine in ten
of the rows of boards left out lie within.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from onnxlint_cmsis.timing.cores import CONVOLUTION_S4, CORES, DENSE_S4, OTHER, Core
from onnxlint_cmsis.timing.placed import Placed
from onnxlint_cmsis.timing.work import LayerWork
from silicon_times import DATA, Row, rows, time_of, unlike, works

MOSTLY = 0.75
"""Part of the time."""
LEFT: dict[str, Callable[[Row], str]] = {
    "board": lambda row: row.board,
    "source": lambda row: row.source,
    "runtime": lambda row: row.library.split()[0].rstrip(","),
    "net": lambda row: row.what,
}
"""What is left out, and how a row names it."""


class Point(NamedTuple):
    """A measurement and what was measured."""

    row: Row
    layers: list[LayerWork]

    def predicted(self, scale: float = 1.0) -> Placed:
        """The range where each instruction takes `scale` times the cycles of the tables."""
        scaled = [
            layer._replace(least=round(scale * layer.least), most=round(scale * layer.most)) for layer in self.layers
        ]
        return time_of(self.row, scaled).placed[0]

    @property
    def instructions(self) -> float:
        """Cycles that the tables give to instructions, in the middle."""
        return sum(self.predicted(2).parts) - sum(self.predicted().parts)

    @property
    def scale(self) -> float:
        """What scales these cycles to the measurement."""
        return 1 + (self.row.cycles - sum(self.predicted().parts)) / self.instructions

    @property
    def tells_scale(self) -> bool:
        """Tell whether instructions take most of the time."""
        return self.instructions >= MOSTLY * sum(self.predicted().parts)

    def needed(self, core: Core, scale: float) -> float:
        """The error of the CPU at which the range begins to hold the measurement; infinite where none does."""
        time, kernels = self.predicted(scale), (OTHER, CONVOLUTION_S4, DENSE_S4)
        own = [layer for layer in self.layers if layer.kind not in kernels]
        cycles = scale * sum((layer.least + layer.most) / 2 * core.factor(layer.kind) for layer in own)
        off = max(self.row.cycles - time.most, time.least - self.row.cycles)
        return max(0.0, core.error + off / cycles) if cycles else float("inf" if off > 0 else 0)


def points(folder: Path) -> Iterator[Point]:
    """Every row that is predicted in known memories."""
    for row in rows():
        if unlike(row):
            continue
        try:
            point = Point(row, works(row, folder))
            if len(time_of(row, point.layers).placed) == 1:
                yield point
        except LookupError:
            continue


def asked(of_cpu: Sequence[Point], name: Callable[[Row], str]) -> Iterator[tuple[str, float, list[Point]]]:
    """What is left out of a CPU's rows, the scale that the others tell, and its rows."""
    for left in dict.fromkeys(name(point.row) for point in of_cpu):
        seen = [point for point in of_cpu if name(point.row) != left and point.tells_scale]
        if seen:
            yield left, median(point.scale for point in seen), [point for point in of_cpu if name(point.row) == left]


def records(every: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """For each CPU and each thing left out, what the others say of it."""
    for core in CORES:
        of_cpu = [point for point in every if point.row.cpu == core.cpu]
        for kind, name in LEFT.items():
            for left, scale, points_left in asked(of_cpu, name):
                times = [(point.row.cycles, point.predicted(scale)) for point in points_left]
                yield {
                    "cpu": core.cpu,
                    "kind": kind,
                    "left": left,
                    "rows": len(times),
                    "held": sum(time.least <= measured <= time.most for measured, time in times),
                    "scale": round(scale, 3),
                    "width": round(median((time.most - time.least) / (time.most + time.least) for _, time in times), 3),
                    "needed": [round(min(point.needed(core, scale), 9.0), 3) for point in points_left],
                }


def main(argv: list[str]) -> int:
    """Write the file, and print for each CPU and each kind how many rows lie within, and the least error."""
    kept = [*records([*points(Path(argv[0]))])]
    lines = ",\n".join(json.dumps(record) for record in kept)
    (DATA / "left_out.json").write_text(f"[\n{lines}\n]\n")
    for core in CORES:
        for kind in LEFT:
            of_kind = [record for record in kept if (record["cpu"], record["kind"]) == (core.cpu, kind)]
            needed = sorted(number for record in of_kind for number in record["needed"])
            if needed:
                held, least = sum(record["held"] for record in of_kind), needed[ceil(0.9 * len(needed)) - 1]
                print(f"{core.cpu}, one {kind} left out: {held} of {len(needed)}; nine in ten with {least:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
