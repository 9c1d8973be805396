"""Makes tests/data/calibrated_times.json: python lab/calibrated_times.py FOLDER.

Fits the time of each measured net of a board, and asks the fit for the time of every other net of the same board,
build and clock. Where layers of a net were measured, it fits one half of them and asks for the other. FOLDER is that of
lab/silicon_times.py. It prints, for each board, how far the answers lie off, and how many keep what the fit promised.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onnxlint_cmsis.timing.calibration import Calibration, TimingError
from onnxlint_cmsis.timing.fit import fitted, fitted_total
from onnxlint_cmsis.timing.work import LayerWork
from silicon_times import DATA, OF_KWS, Row, device_of, memories, rows, unlike, works

Measured = tuple[Row, list[LayerWork]]
"""A measurement and what was measured."""
LAYERS = re.compile(r"layer (convolution|depthwise|\d+)")
"""Rows that are one layer of a net."""
SINGLE = "single-operator model"
"""Rows that are no net."""
HALVES = ((0, 2), (1, 3), (0, 1), (2, 3))
"""Layers of every four that are fitted: nets with depthwise layers alternate, so that a half may be of one kind."""


def boards(folder: Path) -> Iterator[list[Measured]]:
    """Rows of known work, by board, build, clock and memories."""
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for row in rows():
        if unlike(row) or row.library.startswith("ns-cmsis-nn") or OF_KWS.fullmatch(row.what) or SINGLE in row.what:
            continue
        try:
            work = works(row, folder)
        except LookupError:
            continue
        if work:
            key = (*row[:5], memories(row), bool(LAYERS.search(row.what)))
            groups.setdefault(key, []).append((row, work))
    return iter(groups.values())


def records_of(group: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """What each fit of a board says of what it has not seen."""
    if LAYERS.search(group[0][0].what):
        for half in HALVES:
            seen = [pair for number, pair in enumerate(group) if number % 4 in half]
            asked = [pair for pair in group if pair not in seen]
            cycles = [row.cycles for row, _ in seen]
            board = fitted(device_of(seen[0][0]), [work for _, (work,) in seen], cycles, "layers")
            yield _record(board, _half(seen), asked, f"{_half(asked)} together")
        return
    for given in group:
        others = [other for other in group if other is not given]
        try:
            board = fitted_total(device_of(given[0]), given[1], given[0].cycles, given[0].what)
        except TimingError as error:
            if others:
                yield {**_head(given[0]), "given": given[0].what, "reason": str(error.args[0])}
            continue
        for other in others:
            yield _record(board, given[0].what, [other], other[0].what)


def _record(board: Calibration, given: str, asked: Sequence[Measured], what: str) -> dict[str, Any]:
    row = asked[0][0]
    said = sum(board.cycles(work) for _, work in asked)
    measured = sum(row.cycles for row, _ in asked)
    return {
        **_head(row),
        "given": given,
        "asked": what,
        "measured_ms": round(1000 * measured / row.clock, 4),
        "said_ms": round(1000 * said / row.clock, 4),
        "promised": board.error,
    }


def _half(layers: Sequence[Measured]) -> str:
    """`15 layers (depthwise)`."""
    kinds = dict.fromkeys(work.kind for _, (work,) in layers if work.kind in ("depthwise", "1x1", "convolution"))
    return f"{len(layers)} layers ({', '.join(kinds)})"


def _head(row: Row) -> dict[str, Any]:
    return {"cpu": row.cpu, "board": row.board, "built": f"{row.library}, {row.compiler}"}


def off(record: dict[str, Any]) -> float:
    """How far an answer lies off, as a part of what was measured."""
    return abs(float(record["said_ms"]) / float(record["measured_ms"]) - 1)


def main(argv: list[str]) -> int:
    """Write the file and print how the promises are kept."""
    records = [record for group in boards(Path(argv[0])) for record in records_of(group)]
    lines = ",\n".join(json.dumps(record) for record in records)
    (DATA / "calibrated_times.json").write_text(f"[\n{lines}\n]\n")
    answers = [record for record in records if "said_ms" in record]
    by_board: dict[str, list[dict[str, Any]]] = {}
    for record in answers:
        by_board.setdefault(f"{record['board']}, {record['built']}", []).append(record)
    for name, of_board in [*by_board.items(), ("all", answers)]:
        errors = np.array([off(record) for record in of_board])
        kept = sum(error <= record["promised"] for error, record in zip(errors, of_board, strict=True))
        median, most = np.median(errors), np.quantile(errors, 0.9)
        print(f"{name}: {kept} of {len(of_board)} kept; off by {median:.0%} in the median, {most:.0%} in nine of ten")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
