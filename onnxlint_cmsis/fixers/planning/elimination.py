"""The exact minimum of a problem, by eliminating one variable after the other from tables of measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from math import prod

import numpy as np

from onnxlint_cmsis.fixers.planning.measures import Level
from onnxlint_cmsis.fixers.planning.problem import SizeProblem, Sizes
from onnxlint_cmsis.ground.named_tuples import NamedTuple

MAX_CELLS = 1_000_000
"""Cells of the largest table that is worth making; a problem that needs a larger one is not eliminated."""


class MeasureTable(NamedTuple):
    """Values over all candidates of a few variables."""

    scope: tuple[int, ...]
    """Variables of axes 1 and up."""
    values: np.ndarray
    """[measures or levels, candidates of the first variable, of the second, ...], int64."""


class Elimination(NamedTuple):
    """How a problem is eliminated."""

    order: list[int]
    """Variables, smallest table first."""
    cells: int
    """Cells of all tables on the way."""


class _BucketChoice(NamedTuple):
    """The best candidate of an eliminated variable for each choice of its neighbours."""

    variable: int
    scope: tuple[int, ...]
    best: np.ndarray


def order(problem: SizeProblem) -> Elimination | None:
    """Order of elimination; None where a table would have more than MAX_CELLS cells."""
    width = {variable: len(candidates) for variable, candidates in problem.domains.items()}
    if any(prod(width[variable] for variable in factor.scope) > MAX_CELLS for factor in problem.factors):
        return None
    met = {variable: {variable} for variable in problem.domains}
    for factor in problem.factors:
        for variable in factor.scope:
            met[variable].update(factor.scope)
    cells = {variable: prod(width[other] for other in scope) for variable, scope in met.items()}
    chosen: list[int] = []
    total = 0
    while cells:
        best = min(cells, key=lambda variable: (cells[variable], variable))
        size = cells.pop(best)
        if size > MAX_CELLS:
            return None
        total += size
        chosen.append(best)
        rest = met.pop(best) - {best}
        for variable in rest:
            met[variable] = (met[variable] | rest) - {best}
            cells[variable] = prod(width[other] for other in met[variable])
    return Elimination(chosen, total)


def tabulate(problem: SizeProblem) -> list[MeasureTable]:
    """All measures of a problem: one table for all factors of the same variables."""
    measures: dict[tuple[int, ...], np.ndarray] = {}
    for factor in problem.factors:
        scope = tuple(sorted(factor.scope))
        values = factor.table([problem.domains[variable] for variable in factor.scope])
        values = values.transpose(0, *(1 + factor.scope.index(variable) for variable in scope))
        measures[scope] = measures[scope] + values if scope in measures else values
    return list(starmap(MeasureTable, measures.items()))


def eliminate(
    problem: SizeProblem, tables: Sequence[MeasureTable], levels: Sequence[Level], order: Sequence[int]
) -> Sizes:
    """The sizes with the least levels, the first before the second and so on; of equals, earlier candidates.

    `tables` are those that `tabulate` makes of the problem.
    """
    weights = np.array(levels, dtype=np.int64)
    pending = [MeasureTable(table.scope, np.tensordot(weights, table.values, 1)) for table in tables]
    width = {variable: len(candidates) for variable, candidates in problem.domains.items()}
    choices: list[_BucketChoice] = []
    for variable in order:
        met = [table for table in pending if variable in table.scope]
        pending = [table for table in pending if variable not in table.scope]
        scope = (variable, *sorted({other for table in met for other in table.scope} - {variable}))
        joint = _sum(met, scope, len(levels), width)
        best = _least(joint)
        choices.append(_BucketChoice(variable, scope[1:], best[0]))
        pending.append(MeasureTable(scope[1:], np.take_along_axis(joint, best[None], axis=1)[:, 0]))
    picked: dict[int, int] = {}
    for choice in reversed(choices):
        picked[choice.variable] = int(choice.best[tuple(picked[other] for other in choice.scope)])
    return {variable: problem.domains[variable][picked[variable]] for variable in problem.domains}


def _sum(met: Sequence[MeasureTable], scope: tuple[int, ...], levels: int, width: Mapping[int, int]) -> np.ndarray:
    """Sum of tables over the union of their variables, in the order of `scope`."""
    total = np.zeros((levels, *(width[variable] for variable in scope)), dtype=np.int64)
    for table in met:
        ordered = sorted(table.scope, key=scope.index)
        values = table.values.transpose(0, *(1 + table.scope.index(variable) for variable in ordered))
        shape = [width[variable] if variable in table.scope else 1 for variable in scope]
        total += values.reshape(levels, *shape)
    return total


def _least(joint: np.ndarray) -> np.ndarray:
    """Position along axis 1 of the lexicographically least column of levels; shape [1, rest]."""
    candidates = np.ones(joint.shape[1:], dtype=bool)
    for level in joint:
        masked = np.where(candidates, level, np.iinfo(np.int64).max)
        candidates &= masked == masked.min(axis=0, keepdims=True)
    index: np.ndarray = candidates.argmax(axis=0)[None]
    return index
