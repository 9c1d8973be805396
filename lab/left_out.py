"""Makes tests/data/left_out.json: python lab/left_out.py FOLDER.

Leaves the rows of one board out, scales the factors of its CPU to rows of its other boards, and asks whether the range
that follows holds what was measured on the board. The scale is the median of rows of which instructions take MOSTLY of
the time or more: the others tell of memory. The proportions of kernels, the errors and the costs of memories stay those
of the tables. FOLDER is that of lab/silicon_times.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from onnxlint_cmsis.timing.cores import CORES
from onnxlint_cmsis.timing.placed import Placed
from onnxlint_cmsis.timing.work import LayerWork
from silicon_times import DATA, Row, rows, time_of, unlike, works

MOSTLY = 0.75
"""Part of the time."""


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


def records(every: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """For each CPU with several boards, what the others say of each."""
    for core in CORES:
        of_cpu = [point for point in every if point.row.cpu == core.cpu]
        for board in dict.fromkeys(point.row.board for point in of_cpu):
            seen = [point for point in of_cpu if point.row.board != board and point.tells_scale]
            if not seen:
                continue
            scale = median(point.scale for point in seen)
            asked = [(point.row.cycles, point.predicted(scale)) for point in of_cpu if point.row.board == board]
            yield {
                "cpu": core.cpu,
                "board": board,
                "rows": len(asked),
                "held": sum(time.least <= measured <= time.most for measured, time in asked),
                "scale": round(scale, 3),
                "width": round(median((time.most - time.least) / (time.most + time.least) for _, time in asked), 3),
            }


def main(argv: list[str]) -> int:
    """Write the file and print it."""
    kept = [*records([*points(Path(argv[0]))])]
    lines = ",\n".join(json.dumps(record) for record in kept)
    (DATA / "left_out.json").write_text(f"[\n{lines}\n]\n")
    print(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
