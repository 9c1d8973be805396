"""Makes tests/data/left_out.json: python lab/left_out.py FOLDER.

Leaves the rows of one board out, scales the factors of its CPU to all other rows, and asks whether the range that
follows holds what was measured on the board. The proportions of kernels, the errors and the costs of memories stay
those of the tables. FOLDER is that of lab/silicon_times.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onnxlint_cmsis.timing.cores import CORES, Core, core_of
from onnxlint_cmsis.timing.device import OVERHEADS, Overhead
from onnxlint_cmsis.timing.memories import line_cost
from silicon_times import DATA, Row, memories, rows, runtime_of, unlike, works


class Point(NamedTuple):
    """A measurement in the terms of its prediction; pairs are least and most cycles."""

    row: Row
    middle: float
    """Instructions x factors, in the middle."""
    kernels: tuple[float, float]
    """Instructions x factors x error."""
    others: tuple[float, float]
    """Memory and runtime."""

    def range(self, scale: float) -> tuple[float, float]:
        """Cycles, at least and at most."""
        return scale * self.kernels[0] + self.others[0], scale * self.kernels[1] + self.others[1]


def points(folder: Path) -> Iterator[Point]:
    """Every row that is predicted."""
    for row in rows():
        core = core_of(row.cpu)
        costs = [core and line_cost(core, name, row.clock) for name in memories(row)]
        if core is None or unlike(row) or None in costs:
            continue
        try:
            layers = works(row, folder)
        except LookupError:
            continue
        if layers:
            yield _point(row, core, layers, costs)


def _point(row: Row, core: Core, layers: Sequence[Any], costs: Sequence[Any]) -> Point:
    overhead = OVERHEADS.get(runtime_of(row), Overhead())
    kernels, others = [], []
    middle = sum((layer.least + layer.most) / 2 * core.factor(layer.kind) for layer in layers)
    for end in (0, 1):
        kernels.append(
            sum(
                (layer.least, layer.most)[end] * core.factor(layer.kind) * core.bounds(layer.kind)[end]
                for layer in layers
            )
        )
        read = sum(count * cost[end] for layer in layers for count, cost in zip(layer.fetches, costs, strict=True))
        others.append(read + overhead.operator[end] * len(layers) + (overhead.run[end] if len(layers) > 1 else 0))
    return Point(row, middle, (kernels[0], kernels[1]), (others[0], others[1]))


def records(every: Sequence[Point]) -> Iterator[dict[str, Any]]:
    """For each CPU with several boards, what the others say of each."""
    for core in CORES:
        of_cpu = [point for point in every if point.row.cpu == core.cpu]
        for board in dict.fromkeys(point.row.board for point in of_cpu):
            seen = [point for point in of_cpu if point.row.board != board]
            if not seen:
                continue
            scale = float(np.median([(point.row.cycles - sum(point.others) / 2) / point.middle for point in seen]))
            asked = [point for point in of_cpu if point.row.board == board]
            ranges = [(point.row.cycles, *point.range(scale)) for point in asked]
            yield {
                "cpu": core.cpu,
                "board": board,
                "rows": len(asked),
                "held": sum(low <= measured <= high for measured, low, high in ranges),
                "scale": round(scale, 3),
                "width": round(float(np.median([(high - low) / (high + low) for _, low, high in ranges])), 3),
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
