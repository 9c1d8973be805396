"""The search for sizes, against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.fixers.planning import elimination
from onnxlint_cmsis.fixers.planning.descent import descend
from onnxlint_cmsis.fixers.planning.measures import MeasureIndex, scores
from onnxlint_cmsis.fixers.planning.problem import Factor, SearchWork, SizeProblem, components
from onnxlint_cmsis.fixers.planning.solve import solve
from support.draws import draws

LEVELS = ((1, 0, 0), (0, 1, 1))
"""The first measure before the sum of the other two."""


def factor(domains, scope, table):
    def tabulate(candidates):
        return np.array([table[cell] for cell in product(*candidates)]).T.reshape(-1, *map(len, candidates))

    return Factor({variable: domains[variable] for variable in scope}, tabulate)


@st.composite
def problems(draw):
    """Up to five variables of up to four candidates, up to five factors over up to three of them."""
    domains = {
        variable: tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True)))
        for variable in draw(st.lists(st.integers(0, 9), min_size=1, max_size=5, unique=True))
    }
    factors = []
    for _ in range(draw(st.integers(1, 5))):
        scope = tuple(draw(st.lists(st.sampled_from(sorted(domains)), min_size=1, max_size=3, unique=True)))
        cells = product(*(domains[variable] for variable in scope))
        numbers = st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 20))
        factors.append(factor(domains, scope, {cell: draw(numbers) for cell in cells}))
    return SizeProblem(domains, tuple(factors))


def everything(problem):
    names = list(problem.domains)
    return [dict(zip(names, sizes, strict=True)) for sizes in product(*problem.domains.values())]


def value(problem, sizes, levels=LEVELS):
    return scores(levels, problem.totals(sizes))


@given(problems())
@settings(max_examples=draws(300))
def test_elimination_finds_the_minimum(problem):
    best = min(value(problem, sizes) for sizes in everything(problem))
    assert value(problem, solve(problem, LEVELS, {})) == best


@given(problems())
@settings(max_examples=draws(300))
def test_ceilings_hold_and_nothing_gets_worse(problem):
    ceilings = dict(enumerate(problem.totals(problem.present)))
    solution = solve(problem, LEVELS, ceilings)
    totals = problem.totals(solution)
    assert all(totals[measure] <= most for measure, most in ceilings.items())
    assert value(problem, solution) <= value(problem, problem.present)


@given(problems())
@settings(max_examples=draws(200))
def test_descent_keeps_ceilings_and_stops_where_no_single_change_helps(problem):
    ceilings = dict(enumerate(problem.totals(problem.present)))
    descent = descend(problem, LEVELS, ceilings, problem.present, SearchWork())
    assert problem.domains
    for variable, candidates in problem.domains.items():
        for size in candidates:
            trial = {**descent, variable: size}
            allowed = all(problem.totals(trial)[measure] <= most for measure, most in ceilings.items())
            assert not allowed or value(problem, trial) >= value(problem, descent)


@given(problems())
@settings(max_examples=draws(200))
def test_components_share_nothing_and_add_up(problem):
    parts = components(problem)
    assert sorted(variable for part in parts for variable in part.domains) == sorted(problem.domains)
    for part in parts:
        assert all(set(factor.scope) <= set(part.domains) for factor in part.factors)
    assert sum(len(part.factors) for part in parts) == len(problem.factors)


def test_equals_stay_as_they_are():
    domains = {0: (7, 8)}
    same = factor(domains, (0,), {(7,): (0, 5, 0), (8,): (0, 5, 0)})
    assert solve(SizeProblem(domains, (same,)), LEVELS, {}) == {0: 7}


def test_a_ceiling_that_the_minimum_breaks_sends_the_search_elsewhere():
    table = {(4,): (0, 10, 10), (5,): (0, 1, 12), (6,): (0, 9, 9)}
    domains = {0: (4, 5, 6)}
    assert solve(SizeProblem(domains, (factor(domains, (0,), table),)), LEVELS, {1: 10, 2: 10}) == {0: 6}


def test_a_problem_too_large_for_tables_is_descended(monkeypatch):
    monkeypatch.setattr(elimination, "MAX_CELLS", 3)
    table = {(a, b): (0, (a - 3) ** 2 + (b - 3) ** 2, 0) for a in range(5) for b in range(5)}
    domains = {0: tuple(range(5)), 1: tuple(range(5))}
    problem = SizeProblem(domains, (factor(domains, (0, 1), table),))
    assert elimination.order(problem) is None
    assert solve(problem, LEVELS, {}) == {0: 3, 1: 3}


@pytest.mark.parametrize("length", [40])
def test_a_long_chain_is_exact(length):
    """Each size is to differ by one from the next, and the last is to be 3."""
    domains = dict.fromkeys(range(length), (5, 4, 3, 2))
    pair = {(a, b): (abs(a - b), 0, 0) for a in range(6) for b in range(6)}
    last = {(size,): (0, abs(size - 3), 0) for size in range(6)}
    factors = [factor(domains, (index, index + 1), pair) for index in range(length - 1)]
    solution = solve(SizeProblem(domains, (*factors, factor(domains, (length - 1,), last))), LEVELS, {})
    assert set(solution.values()) == {3}


@given(problems(), st.data())
@settings(max_examples=draws(100))
def test_parts_of_a_table_are_the_cells_that_were_asked_for(problem, data):
    """Whether a factor keeps its table or is too large to."""
    assert problem.factors
    for factor in problem.factors:
        sizes = [problem.domains[variable] for variable in factor.scope]
        asked = [data.draw(st.lists(st.sampled_from(options), min_size=1, unique=True)) for options in sizes]
        table = factor.table(asked)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("onnxlint_cmsis.fixers.planning.problem.KEPT_CELLS", 0)
            fresh = Factor(dict(zip(factor.scope, sizes, strict=True)), factor._tabulate)
            assert (fresh.table(asked) == table).all()
        for index, cell in zip(np.ndindex(table.shape[1:]), product(*asked), strict=True):
            assert factor.measure(cell) == tuple(row[index] for row in table)


@given(problems(), st.integers(0, 20_000))
def test_a_search_that_ends_early_keeps_ceilings_and_makes_nothing_worse(problem, units):
    ceilings, work = dict(enumerate(problem.totals(problem.present))), SearchWork(units)
    solution = solve(problem, LEVELS, ceilings, work=work)
    totals = problem.totals(solution)
    assert all(totals[measure] <= most for measure, most in ceilings.items())
    assert value(problem, solution) <= value(problem, problem.present)
    if not work.ended:
        assert solution == solve(problem, LEVELS, ceilings)


def test_work_that_is_done_stays_done():
    work = SearchWork(10)
    assert work.take(10)
    assert not work.ended
    assert not work.take(1)
    assert not work.take(0)
    assert work.ended


def test_a_search_without_work_says_so():
    domains = {0: (1, 2), 1: (1, 2)}
    pair = factor(domains, (0, 1), {cell: (0, 3 - cell[0], 3 - cell[1]) for cell in product((1, 2), repeat=2)})
    problem, work = SizeProblem(domains, (pair,)), SearchWork(0)
    assert solve(problem, LEVELS, {}, work=work) == {0: 1, 1: 1}
    assert work.ended
    assert solve(problem, LEVELS, {}) == {0: 2, 1: 2}


@pytest.mark.parametrize("targets", [1, 2, 3])
def test_a_measure_lies_in_the_place_of_its_name(targets: int) -> None:
    index = MeasureIndex(targets)
    places = tuple(range(len(index.zeros())))
    count = index.read(places)
    assert index.row(count) == places
    assert (*index.hazards, *index.risks, *index.instructions) == count.hazards + count.risks + count.instructions
    rest = (index.unpriced, index.misses, index.unaligned, index.bytes)
    assert rest == (count.unpriced, count.misses, count.unaligned, count.bytes) == places[-4:]


@pytest.mark.parametrize(("most", "solvable"), [(3, False), (7, False), (8, True)])
def test_tables_of_a_ring_grow_when_a_variable_is_taken_out(
    most: int, solvable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each factor has 4 cells; taking out a variable joins its two neighbours, for each of its two candidates."""
    monkeypatch.setattr(elimination, "MAX_CELLS", most)
    domains = dict.fromkeys(range(4), (1, 2))
    zeros = dict.fromkeys(product((1, 2), (1, 2)), (0, 0, 0))
    ring = tuple(factor(domains, (here, (here + 1) % 4), zeros) for here in range(4))
    taken = elimination.order(SizeProblem(domains, ring))
    assert (taken is not None) == solvable
    assert taken is None or (sorted(taken.order), taken.cells) == ([0, 1, 2, 3], 8 + 8 + 4 + 2)
