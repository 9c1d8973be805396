"""Prints how far predictions are off on shapes that no fit saw: python lab/held_out_errors.py FOLDER [RELEASE].

FOLDER holds the cost vectors that lab/fit_cost.py reads. Each shape is predicted by a fit to three quarters of the
others; a line is a build and the function that does the work. Functions that were measured later have lines of
tests/data/cost_later.jsonl.gz, from the shapes held apart there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fit_cost
from cost_files import read_costs
from fit_later_costs import later_errors, later_rows
from onnxlint_cmsis.cmsis_nn.library import route

FOLDS = 4


class HeldOut(NamedTuple):
    """Errors of a function on shapes that no fit saw, in percent, without sign."""

    build: str
    """File of its instructions, without its ending: `7.0.0-dsp-clang19.1`."""
    function: str
    """Function that does the work."""
    errors: list[float]
    """One for each call."""

    @property
    def p95(self) -> float:
        """What 95 of 100 calls are off by at most."""
        return float(np.percentile(self.errors, 95))

    def __str__(self) -> str:
        median, most = np.median(self.errors), max(self.errors)
        return f"| {self.build} | {self.function} | {len(self.errors)} | {median:.2f} | {self.p95:.2f} | {most:.2f} |"


def left_out(path: Path) -> Iterator[tuple[fit_cost.Row, float | None]]:
    """Every row of a file of vectors with what is predicted by a fit to rows of other shapes."""
    rows = fit_cost.read(path)
    shapes = {call: number % FOLDS for number, call in enumerate(sorted({row.call for row in rows}, key=repr))}
    tables = [fit_cost.fit([row for row in rows if shapes[row.call] != fold]) for fold in range(FOLDS)]
    return ((row, fit_cost.predicted(row, tables[shapes[row.call]])) for row in rows)


def of_vectors(path: Path) -> list[HeldOut]:
    """Errors of each function of a file of vectors."""
    target, errors = fit_cost.target_of(path), dict[str, list[float]]()
    for row, number in left_out(path):
        if number is not None:
            off = 100 * abs(number / row.instructions - 1)
            errors.setdefault(route(row.call, target).effective, []).append(off)
    return [HeldOut(fit_cost.file_of(target).stem, *item) for item in sorted(errors.items())]


def of_later(path: Path) -> list[HeldOut]:
    """Errors of the functions of a build that were measured later."""
    target = fit_cost.target_of(path)
    data = read_costs(fit_cost.file_of(target))
    table = {**data["instructions"], **data["later"]["instructions"]}
    return [HeldOut(fit_cost.file_of(target).stem, *item) for item in later_errors(later_rows(target), table).items()]


def main(folder: str, release: str = "v7.0.0") -> None:
    """Print a table of all builds of a release."""
    print("| build | function | calls | median | 95 % | most |\n|---|---|---|---|---|---|")
    for path in fit_cost.vectors_in(Path(folder), release):
        for group in (*of_vectors(path), *of_later(path)):
            print(group, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
