"""Coordinate descent for a problem too large for tables: one variable at a time, then pairs that share a factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from math import prod

import numpy as np

from onnxlint_cmsis.fixers.planning.measures import Level, Numbers, added, scores
from onnxlint_cmsis.fixers.planning.problem import FACTOR_WORK, Factor, SearchWork, SizeProblem, Sizes

MAX_PAIRS = 200
"""Pairs of variables looked at in one round: a pair costs as many looks as the product of its candidates."""


def descend(
    problem: SizeProblem, levels: Sequence[Level], ceilings: Mapping[int, int], start: Sizes, work: SearchWork
) -> Sizes:
    """Sizes that no change of one variable, or of a pair, improves; never above a ceiling that `start` keeps.

    `ceilings` bounds totals of measures by their number. Where `work` ends, they are the best sizes so far.
    """
    search = _Search(problem, levels, ceilings, dict(start), work)
    while search.improve((variable,) for variable in problem.domains) or search.improve(_pairs(problem, levels)):
        pass
    return search.sizes


def _pairs(problem: SizeProblem, levels: Sequence[Level]) -> Iterator[tuple[int, ...]]:
    """Pairs of variables in one factor that counts before the objective's last level, which breaks ties."""
    present = problem.present
    counted = [
        factor
        for factor in problem.factors
        if any(scores(levels[:-1], factor.measure(tuple(present[variable] for variable in factor.scope))))
    ]
    pairs = dict.fromkeys(pair for factor in counted for pair in combinations(sorted(factor.scope), 2))
    return iter(list(pairs)[:MAX_PAIRS])


class _Search:
    """The sizes so far, their totals, and the factors of each variable."""

    def __init__(
        self,
        problem: SizeProblem,
        levels: Sequence[Level],
        ceilings: Mapping[int, int],
        sizes: Sizes,
        work: SearchWork,
    ) -> None:
        self._work = work
        self.sizes = sizes
        self._problem, self._levels, self._ceilings = problem, levels, ceilings
        self._weights = np.array(levels, dtype=np.int64)
        self._totals = problem.totals(sizes)
        self._seen = problem.by_variable()

    def improve(self, groups: Iterator[tuple[int, ...]]) -> bool:
        """Give each group of variables its best sizes; tell whether anything changed."""
        changed = [self._improve(group) for group in groups]
        return any(changed)

    def _improve(self, group: tuple[int, ...]) -> bool:
        touched = list({id(factor): factor for variable in group for factor in self._seen[variable]}.values())
        candidates = [self._problem.domains[variable] for variable in group]
        cost = len(touched) * (FACTOR_WORK + prod(map(len, candidates)))
        if not touched or not self._work.take(cost):
            return False
        grid = np.zeros((len(self._totals), *map(len, candidates)), dtype=np.int64)
        for factor in touched:
            grid += self._slice(factor, group)
        now = added(factor.measure(tuple(self.sizes[variable] for variable in factor.scope)) for factor in touched)
        totals = grid.reshape(len(grid), -1) + np.subtract(self._totals, now)[:, None]
        choice_index = self._least(totals)
        improved = tuple(totals[:, choice_index].tolist())
        if scores(self._levels, improved) >= scores(self._levels, self._totals):
            return False
        choice = next(islice(product(*candidates), choice_index, None))
        self.sizes, self._totals = {**self.sizes, **dict(zip(group, choice, strict=True))}, improved
        return True

    def _least(self, totals: Numbers) -> int:
        """The first choice with the least levels of those that keep the ceilings, as the present one does."""
        left = np.ones(totals.shape[1], dtype=bool)
        for measure, most in self._ceilings.items():
            left &= totals[measure] <= most
        for level in self._weights @ totals:
            left &= level == level[left].min()
        return int(left.argmax())

    def _slice(self, factor: Factor, group: tuple[int, ...]) -> Numbers:
        """Measures over all candidates of the group, with one axis for each variable of it."""
        domains = self._problem.domains
        free = [variable for variable in factor.scope if variable in group]
        candidates = [domains[variable] if variable in free else (self.sizes[variable],) for variable in factor.scope]
        table = factor.table(candidates).reshape(-1, *(len(domains[variable]) for variable in free))
        ordered: Numbers = table.transpose(0, *(1 + free.index(variable) for variable in group if variable in free))
        return ordered.reshape(-1, *(len(domains[variable]) if variable in free else 1 for variable in group))
