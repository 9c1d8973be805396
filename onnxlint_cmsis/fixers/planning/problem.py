"""A search for sizes as data: variables with candidate sizes, and factors that measure each choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod

from onnxlint_cmsis.fixers.planning.measures import Measures, Numbers, added
from onnxlint_cmsis.ground.named_tuples import NamedTuple

Sizes = dict[int, int]
"""Variable to size."""
Tabulate = Callable[[Sequence[Sequence[int]]], Numbers]
"""From candidates of each variable of a scope to all measures: [measures, first candidates, second candidates, ...]."""

WORK = 100_000_000
"""Units of work that all searches for one plan of a model may take together."""
FACTOR_WORK = 1_000
"""Units for one table of a factor besides its cells."""
KEPT_CELLS = 2**16
"""Cells of the largest table that a factor keeps."""


class SearchWork:
    """What searches for sizes may still do, counted so that they end at the same place on every machine."""

    def __init__(self, units: int = WORK) -> None:
        """`units` are cells of tables, and `FACTOR_WORK` more for each table that a factor makes."""
        self._units = units
        self.ended = False
        """Whether a search stopped because too few units were left."""

    def take(self, units: int) -> bool:
        """Take units; False where fewer are left, and from then on."""
        self._units -= units
        self.ended = self.ended or self._units < 0
        return not self.ended


class Factor:
    """A layer, stored tensor or class with measures that depend on a few variables."""

    def __init__(self, domains: Mapping[int, Sequence[int]], tabulate: Tabulate) -> None:
        """`domains` has the variables and the sizes to keep in the table."""
        self.scope = tuple(domains)
        self.domains = domains
        self._tabulate = tabulate
        self._domains = tuple(domains.values())
        self._indices = [{size: index for index, size in enumerate(sizes)} for sizes in self._domains]
        self._cells: dict[tuple[int, ...], Measures] = {}

    @cached_property
    def _kept(self) -> Numbers | None:
        """The table over the domains, unless it is too large."""
        return self._tabulate(self._domains) if prod(map(len, self._domains)) <= KEPT_CELLS else None

    def table(self, candidates: Sequence[Sequence[int]]) -> Numbers:
        """All measures for these candidates of each variable of the scope."""
        if self._kept is None:
            return self._tabulate(candidates)
        if tuple(candidates) == self._domains:
            return self._kept
        pairs = list(zip(candidates, self._indices, strict=True))
        if not all(size in places for sizes, places in pairs for size in sizes):
            return self._tabulate(candidates)
        table = self._kept
        for axis, (sizes, places) in enumerate(pairs, 1):
            table = table.take([places[size] for size in sizes], axis)
        return table

    def measure(self, sizes: tuple[int, ...]) -> Measures:
        """Measures at the sizes of the scope, in its order."""
        if sizes not in self._cells:
            places = (slice(None), *(where.get(size) for size, where in zip(sizes, self._indices, strict=True)))
            kept = None if None in places else self._kept
            cell = self.table([(size,) for size in sizes]) if kept is None else kept[places]
            self._cells[sizes] = tuple(cell.reshape(-1).tolist())
        return self._cells[sizes]


class SizeProblem(NamedTuple):
    """Variables and factors; a solution picks one candidate for each variable."""

    domains: dict[int, tuple[int, ...]]
    """Variable to its candidates; the first is the present size."""
    factors: tuple[Factor, ...]
    """Their measures add up."""

    @property
    def present(self) -> Sizes:
        """The sizes as they are."""
        return {variable: candidates[0] for variable, candidates in self.domains.items()}

    def totals(self, sizes: Mapping[int, int]) -> Measures:
        """Sum of every measure over all factors; empty where there is no factor."""
        return added(factor.measure(tuple(sizes[variable] for variable in factor.scope)) for factor in self.factors)

    def by_variable(self) -> dict[int, list[Factor]]:
        """The factors of each variable, in order."""
        factors: dict[int, list[Factor]] = {variable: [] for variable in self.domains}
        for factor in self.factors:
            for variable in factor.scope:
                factors[variable].append(factor)
        return factors


def components(problem: SizeProblem) -> list[SizeProblem]:
    """Independent parts of a problem, by shared variables; factors without variables are left out."""
    leader = {variable: variable for variable in problem.domains}

    def lead(variable: int) -> int:
        while leader[variable] != variable:
            leader[variable] = variable = leader[leader[variable]]
        return variable

    for factor in problem.factors:
        for variable in factor.scope:
            leader[lead(variable)] = lead(factor.scope[0])
    parts: dict[int, SizeProblem] = {}
    for variable, candidates in problem.domains.items():
        parts.setdefault(lead(variable), SizeProblem({}, ())).domains[variable] = candidates
    factors: dict[int, list[Factor]] = {}
    for factor in problem.factors:
        if factor.scope:
            factors.setdefault(lead(factor.scope[0]), []).append(factor)
    return [part._replace(factors=tuple(factors.get(root, ()))) for root, part in parts.items()]
