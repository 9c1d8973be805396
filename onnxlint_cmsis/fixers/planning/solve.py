"""The best sizes of a problem under ceilings: exact where the tables fit into memory, by descent elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.fixers.planning.elimination import eliminate, order, tabulate
from onnxlint_cmsis.fixers.planning.measures import Level, scores
from onnxlint_cmsis.fixers.planning.problem import FACTOR_WORK, SearchWork, SizeProblem, Sizes

ATTEMPTS = 12
"""How often the exact search may double the weight of a measure above its ceiling."""


def solve(
    problem: SizeProblem,
    levels: Sequence[Level],
    ceilings: Mapping[int, int],
    traded: int = 0,
    work: SearchWork | None = None,
) -> Sizes:
    """Sizes with the lexicographically least levels and no total above its ceiling.

    `ceilings` bounds totals by the number of the measure; the present sizes must keep them. Where tables can be made
    and the minimum keeps the ceilings, it is the exact minimum, and the first candidates among equals. Elsewhere it
    is the best of what was found with heavier weights on the measures that went above, and by descent. `traded` is
    the level in which such a measure weighs at least 1. `work` limits the search, with a budget for this problem alone
    where there is none; where it ends, the sizes are the best so far.
    """
    if not problem.factors:
        return problem.present
    work = work or SearchWork()
    exact, bound = _exact(problem, levels, ceilings, traded, work)
    if exact and not bound:
        return exact[0]
    from onnxlint_cmsis.fixers.planning.descent import descend

    candidates = [problem.present, *exact, descend(problem, levels, ceilings, problem.present, work)]
    return min(candidates, key=lambda sizes: scores(levels, problem.totals(sizes)))


def _exact(
    problem: SizeProblem, levels: Sequence[Level], ceilings: Mapping[int, int], traded: int, work: SearchWork
) -> tuple[list[Sizes], bool]:
    """Sizes found by elimination that keep the ceilings, none or one, and whether a ceiling was met on the way."""
    elimination = order(problem)
    if elimination is None or not work.take(FACTOR_WORK * len(problem.factors)):
        return [], True
    tables = tabulate(problem)
    weighted = list(levels)
    for attempt in range(ATTEMPTS):
        if not work.take(len(levels) * elimination.cells):
            return [], True
        sizes = eliminate(problem, tables, weighted, elimination.order)
        totals = problem.totals(sizes)
        above = {measure for measure, most in ceilings.items() if totals[measure] > most}
        if not above:
            return [sizes], attempt > 0
        weighted = [_heavier(level, above, int(index == traded)) for index, level in enumerate(weighted)]
    return [], True


def _heavier(level: Level, above: set[int], least: int) -> Level:
    """A level in which the measures above their ceilings weigh twice, and `least` at least."""
    return tuple(max(least, 2 * weight) if measure in above else weight for measure, weight in enumerate(level))
