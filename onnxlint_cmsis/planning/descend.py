"""A local minimum of a problem too large for tables: one variable at a time, then pairs that share a factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from onnxlint_cmsis.planning.problem import Factor, Level, Measures, Problem, Sizes, added, scores

MAX_PAIRS = 200
"""Pairs of variables looked at in one round: a pair costs as many looks as the product of its candidates."""


def descend(problem: Problem, levels: Sequence[Level], ceilings: Mapping[int, int], start: Sizes) -> Sizes:
    """Sizes that no change of one variable, or of a pair, improves; never above a ceiling that `start` keeps.

    `ceilings` bounds totals of measures by their number.
    """
    search = _Search(problem, levels, ceilings, dict(start))
    while search.improve((variable,) for variable in problem.domains) or search.improve(_pairs(problem, levels)):
        pass
    return search.sizes


def _pairs(problem: Problem, levels: Sequence[Level]) -> Iterator[tuple[int, ...]]:
    """Pairs in one factor that the objective counts before its last level, which only parts equals."""
    present = problem.present
    counted = [
        factor
        for factor in problem.factors
        if any(scores(levels[:-1], factor.measure(tuple(present[variable] for variable in factor.scope))))
    ]
    found = dict.fromkeys(pair for factor in counted for pair in combinations(sorted(factor.scope), 2))
    return iter(list(found)[:MAX_PAIRS])


class _Search:
    """The sizes so far, their totals, and the factors of each variable."""

    def __init__(self, problem: Problem, levels: Sequence[Level], ceilings: Mapping[int, int], sizes: Sizes) -> None:
        self.sizes = sizes
        self._problem, self._levels, self._ceilings = problem, levels, ceilings
        self._totals = problem.totals(sizes)
        self._seen: dict[int, list[Factor]] = {variable: [] for variable in problem.domains}
        for factor in problem.factors:
            for variable in factor.scope:
                self._seen[variable].append(factor)

    def improve(self, groups: Iterator[tuple[int, ...]]) -> bool:
        """Give each group of variables its best sizes; tell whether anything changed."""
        changed = [self._improve(group) for group in groups]
        return any(changed)

    def _improve(self, group: tuple[int, ...]) -> bool:
        touched = list({id(factor): factor for variable in group for factor in self._seen[variable]}.values())
        if not touched:
            return False
        without = self._difference(self._totals, self._measured(touched, self.sizes))
        best = scores(self._levels, self._totals)
        found: tuple[Sizes, Measures] | None = None
        for choice in product(*(self._problem.domains[variable] for variable in group)):
            trial = {**self.sizes, **dict(zip(group, choice, strict=True))}
            totals = added((without, self._measured(touched, trial)))
            value = scores(self._levels, totals)
            if value < best and all(totals[measure] <= most for measure, most in self._ceilings.items()):
                best, found = value, (trial, totals)
        if found:
            self.sizes, self._totals = found
        return found is not None

    @staticmethod
    def _difference(left: Measures, right: Measures) -> Measures:
        return tuple(a - b for a, b in zip(left, right, strict=True))

    @staticmethod
    def _measured(factors: list[Factor], sizes: Sizes) -> Measures:
        return added(factor.measure(tuple(sizes[variable] for variable in factor.scope)) for factor in factors)
