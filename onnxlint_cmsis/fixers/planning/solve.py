"""The best sizes: bucket elimination, coordinate descent, staircases, and the plan that all targets agree on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from itertools import chain, combinations, islice, pairwise, product, starmap
from math import prod
from operator import neg, sub
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.analysis.classes import FLOAT, DimensionClass, Dimensions, bias_slot
from onnxlint_cmsis.analysis.lanes import MAX_KNOWN
from onnxlint_cmsis.analysis.memory import activations, buffer_lifetimes, element_bytes, plan_arena
from onnxlint_cmsis.checks.facts import REMOVE, REPAIR, ClassFact
from onnxlint_cmsis.checks.kinds import HazardCheck, RoutingCheck
from onnxlint_cmsis.checks.rule import ModelSubject, RuleScope
from onnxlint_cmsis.checks.rule_registry import LintCheck, checks_of, codes_of, rule
from onnxlint_cmsis.checks.run_checks import code_of, layer_subject
from onnxlint_cmsis.cmsis_nn.library import measured_build
from onnxlint_cmsis.cmsis_nn.releases import measured_on
from onnxlint_cmsis.fixers.planning.problem import (
    BITS,
    FACTOR_WORK,
    POLICIES,
    REACH,
    WORK,
    Count,
    Factor,
    FixOptions,
    Level,
    MeasureIndex,
    NewBias,
    Numbers,
    PlanningInput,
    Prices,
    SearchWork,
    Site,
    SizeProblem,
    Sizes,
    added,
    components,
    domains_of,
    factors_of,
    grouped_classes,
    hazardous_classes,
    layer_factor,
    misses_in,
    planning_input,
    scores,
    stored_constants,
    unpriced_factors,
)
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.model.axes import AxisForm, leaves, resized
from onnxlint_cmsis.model.graph import Graph, Node, node_location
from onnxlint_cmsis.operators.control import IF

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis, Place
    from onnxlint_cmsis.analysis.fix_results import IfBranch
    from onnxlint_cmsis.analysis.lanes import Lanes
    from onnxlint_cmsis.cmsis_nn.library import Route
    from onnxlint_cmsis.lower.layer import Layer
    from onnxlint_cmsis.model.axes import Axis


# The exact minimum of a problem by eliminating one variable after the other from tables of measures.


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


# Coordinate descent for a problem too large for tables: one variable at a time, then pairs that share a factor.


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


# The best sizes of a problem under ceilings: exact where the tables fit into memory, by descent elsewhere.


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


# What a model costs at other widths of one class at a time: for those who choose widths and train anew.


CHEAP = 0.005
"""Part of the model's instructions up to which more channels count as costing nothing."""
CLIFF = 3
"""How many times the usual step a step is that counts as a cliff."""
STEEP = 1.5
"""How many times the usual step the step behind a cheap count is at least."""


class WidthStep(NamedTuple):
    """The model with another number of channels in one class."""

    size: int
    """Channels of the class."""
    instructions: tuple[int, ...]
    """Predicted instructions of the whole model on each target, without layers of unknown cost."""
    unknown: bool
    """Whether some layer takes a kernel of unknown cost there; it then counts as now."""
    hazards: tuple[int, ...]
    """Known errors and wrong results of the whole model on each target."""
    flash: int
    """Bytes of the stored constants of the model."""
    arena: int | None
    """Bytes of activations, at least; None where a size is unknown."""


class Staircase(NamedTuple):
    """All widths of one class."""

    group: DimensionClass
    """The class."""
    steps: tuple[WidthStep, ...]
    """A step for each number of channels, narrowest first."""
    unpriced: str = ""
    """A node along the class whose cost is unknown and left out; empty where there is none."""
    untried: int = 0
    """Widths within reach that are not among the steps, because the work for a model has a limit."""

    @property
    def present(self) -> WidthStep:
        """The step of the model as it is."""
        return next(step for step in self.steps if step.size == self.group.size)

    def as_cheap(self, target: int) -> int:
        """Largest number of channels that costs hardly more than the present one, without a further hazard.

        The present number where some cost along the class is unknown.
        """
        now = self.present
        if self.unpriced:
            return now.size
        most = now.instructions[target] * (1 + CHEAP)
        fits = [
            step.size
            for step in self.steps
            if step.size >= now.size
            and step.instructions[target] <= most
            and not step.unknown
            and step.hazards[target] <= now.hazards[target]
        ]
        return max(fits, default=now.size)

    def cliffs(self, target: int) -> list[tuple[int, int]]:
        """Sizes at which the cost jumps, and by how many instructions from the size below."""
        costs = [step.instructions[target] for step in self.steps]
        jumps = [after - before for before, after in pairwise(costs)]
        usual = float(np.median(np.abs(jumps))) if jumps else 0
        limit = max(CLIFF * usual, CHEAP * costs[0])
        return [(step.size, jump) for step, jump in zip(self.steps[1:], jumps, strict=True) if jump > limit]

    def cliff(self, target: int) -> tuple[int, int] | None:
        """The cliff nearest to the present size, the larger of two; None where there is none."""
        return min(self.cliffs(target), key=lambda cliff: (abs(cliff[0] - self.group.size), -cliff[0]), default=None)

    def sound(self, target: int) -> tuple[WidthStep, ...]:
        """The steps of known cost without a hazard that the model has not today."""
        most = self.present.hazards[target]
        return tuple(step for step in self.steps if not step.unknown and step.hazards[target] <= most)

    def cheap(self, target: int) -> tuple[WidthStep, ...]:
        """The sound steps to which the cost rises no more than usual, and behind which it rises more."""
        costs = [step.instructions[target] for step in self.steps]
        usual = max(0.0, (costs[-1] - costs[0]) / max(1, len(costs) - 1))
        sound = {step.size for step in self.sound(target)}
        rises = zip(self.steps[1:], pairwise(costs), pairwise(costs[1:]), strict=False)
        return tuple(
            step
            for step, (before, here), (_, behind) in rises
            if step.size in sound and here - before <= usual and behind - here > STEEP * usual
        )

    def nearest(self, target: int) -> tuple[WidthStep | None, WidthStep | None]:
        """The nearest cheap step that is narrower and costs less, and the nearest that is wider.

        Where there is none, the step next to the present one; None where that is not sound either.
        """
        now, cheap = self.present, self.cheap(target)
        beside = {step.size: step for step in self.sound(target)}
        narrower = [s for s in cheap if s.size < now.size and s.instructions[target] < now.instructions[target]]
        wider = [step for step in cheap if step.size > now.size]
        down = narrower[-1] if narrower else beside.get(now.size - 1)
        return down, wider[0] if wider else beside.get(now.size + 1)


WIDTH = 32
"""Buffers that a width costs at least as much as to place: its layers are routed and priced too."""


def staircases(
    view: PlanningInput, prices: Prices, reach: float = 2.0, placements: int = sys.maxsize
) -> Iterator[Staircase]:
    """The widths of each class that is not LOCKED, from today's divided by `reach` to today's times `reach`.

    All other classes stay as they are. Layers in groups keep two channels at least: with one they would be of another
    kind. `placements` limits the work; where it does not suffice, the classes with the most widths have only those
    nearest to today's; a width takes as much as its buffers, and no less than WIDTH.
    """
    groups = [group for group in view.dimensions.classes if group.freedom is not Freedom.LOCKED]
    least = frozenset(grouped_classes(view))
    narrowest = [min(group.size, max(2 if group.id in least else 1, int(group.size / reach))) for group in groups]
    counts = [max(group.size, int(group.size * reach)) - low + 1 for group, low in zip(groups, narrowest, strict=True)]
    model = _Model(view, prices)
    most = max(1, _share(counts, placements // max(model.buffers, WIDTH)))
    for group, count, low in zip(groups, counts, narrowest, strict=True):
        tried = min(count, most)
        first = group.size - (group.size - low) * tried // count
        steps = tuple(model.steps(group, range(first, first + tried)))
        yield Staircase(group, steps, view.unpriced.get(group.id, ""), count - tried)


def _share(counts: Sequence[int], total: int) -> int:
    """How many widths a class may have, so that all classes together have at most `total`."""
    for index, count in enumerate(sorted(counts)):
        share = total // (len(counts) - index)
        if count > share:
            return share
        total -= count
    return max(counts, default=0)


class _Model:
    """A model at other widths of one class; what all classes have in common is worked out once."""

    def __init__(self, view: PlanningInput, prices: Prices) -> None:
        self._view, self._prices = view, prices
        self._index = MeasureIndex(len(prices.targets))
        self._present = np.array(
            SizeProblem({}, factors_of(view, prices, {}, 1, None)).totals({}) or self._index.zeros(), dtype=np.int64
        )
        self._sites: dict[int, list[Site]] = {}
        for site in view.sites:
            for leaf in site.leaves:
                self._sites.setdefault(leaf, []).append(site)
        self._constants: dict[int, list[str]] = {}
        for name in view.graph.constants:
            for leaf in _leaves(view, name):
                self._constants.setdefault(leaf, []).append(name)
        self._stored = _stored(view)
        self._uses = activations(view.graph, view.lowered)
        self._lifetimes = buffer_lifetimes(self._uses) if self._uses else {}
        self._element = element_bytes(view.lowered)
        self._resized: dict[int, list[tuple[int, tuple[Axis, ...]]]] = {}
        for buffer, name in self._uses.names.items() if self._uses else ():
            for leaf in _leaves(view, name):
                self._resized.setdefault(leaf, []).append((buffer, view.dimensions.axes(name) or ()))

    @property
    def buffers(self) -> int:
        """Buffers that one plan of the arena places; at least 1."""
        return max(1, len(self._lifetimes))

    def steps(self, group: DimensionClass, sizes: range) -> Iterator[WidthStep]:
        """The steps of a class at these sizes, today's among them."""
        index = self._index
        table = self._table(group, sizes)
        now = sizes.index(group.size)
        for column_index, size in enumerate(sizes):
            column = table[:, column_index].tolist()
            yield WidthStep(
                size,
                tuple(column[at] for at in index.instructions),
                bool(column[index.unpriced] > table[index.unpriced, now]),
                tuple(column[at] for at in index.hazards),
                self._stored + int(column[index.bytes] - table[index.bytes, now]),
                self._arena(group.id, size),
            )

    def _table(self, group: DimensionClass, sizes: range) -> Numbers:
        """Measures of the whole model at each size of a class: [measures, sizes]."""
        view, leaf = self._view, group.id
        chosen = (group.size, *sizes)
        domains = {leaf: chosen}
        total = self._index.zeros(len(chosen)) + self._present[:, None]
        for factor in (
            *(layer_factor(site, self._prices, domains, 1, None) for site in self._sites.get(leaf, ())),
            *stored_constants(view, self._index, domains, self._constants.get(leaf, ())),
        ):
            table = factor.table([chosen])
            total += table - table[:, :1]
        # Lanes along a node of unknown cost are no measure here; they are told of the class as a whole.
        return total[:, 1:]

    def _arena(self, leaf: int, size: int) -> int | None:
        """Bytes of activations at a size of a class; None where one is unknown."""
        if self._uses is None:
            return None
        sizes = dict(self._uses.sizes)
        for buffer, axes in self._resized.get(leaf, ()):
            elements = product_of(*(resized(axis, {leaf: size}) for axis in axes))
            if elements is None:
                return None
            sizes[buffer] = self._element * elements
        return plan_arena(self._uses._replace(sizes=sizes), 0, self._lifetimes).size


def _leaves(view: PlanningInput, tensor: str) -> set[int]:
    """Leaves along a tensor."""
    return {leaf for axis in view.dimensions.axes(tensor) or () for leaf in leaves(axis)}


def _stored(view: PlanningInput) -> int:
    """Bytes of the stored constants as they are."""
    total = 0
    for constant in view.graph.constants.values():
        count = int(np.prod(constant.shape, dtype=np.float64)) if constant.shape else 1
        total += (count * BITS.get(constant.elem_type, 8) + 7) // 8
    return total


# Choose the sizes of a model's classes by a policy, within hazards, budget and least gain.


class SizeDecision(NamedTuple):
    """The sizes that a policy asks for."""

    sizes: Sizes
    """New size of every class that changes."""
    before: Count
    """What the model measures."""
    repaired: Count
    """What it measures with its hazards repaired alone; as before without hazards to repair."""
    after: Count
    """What it measures with `sizes`."""
    best: Count
    """What it would measure if `min_gain` were 0."""
    spent: int
    """Bytes of channels that need not stay, which count against the budget; 0 where there is none."""
    without: Callable[[int], Count]
    """What it measures if all classes change but one."""
    ended: bool
    """Whether the search ended early, so that better sizes may exist."""

    @property
    def repairs(self) -> bool:
        """Whether hazards go away."""
        return sum(self.after.hazards) < sum(self.before.hazards)


def decide(
    view: PlanningInput,
    prices: Prices,
    options: FixOptions,
    live: Mapping[int, int],
    refused: Mapping[int, str],
) -> SizeDecision:
    """Choose the size of every class that is not LOCKED and not refused.

    `live` has the number of lanes that must stay, for the classes where it is less than the size.
    The search ends early where the work of `view` is done.
    """
    movable = movable_classes(view, refused)
    domains = domains_of(view, prices, movable, live, options)
    misses = misses_in(view, prices) if options.policy == "route" else None
    factors = factors_of(view, prices, domains, options.align, misses)
    problem = SizeProblem(domains, factors)
    index = MeasureIndex(len(prices.targets))
    choice = _SizeChoice(problem, hazardous_classes(view, prices), index, options, view.work)
    return choice.decision(0 if options.budget is None else _spent(view, index, movable, live))


def movable_classes(view: PlanningInput, refused: Mapping[int, str]) -> dict[int, DimensionClass]:
    """Classes whose size may change, by id."""
    return {
        group.id: group
        for group in view.dimensions.classes
        if group.freedom is not Freedom.LOCKED and group.id not in refused
    }


def _spent(
    view: PlanningInput, index: MeasureIndex, movable: Mapping[int, DimensionClass], live: Mapping[int, int]
) -> int:
    """Bytes of the constants beyond live lanes alone, so that bytes of an earlier fix count again.

    Of all classes that may change, also of those that have no other size to take.
    """
    domains: dict[int, tuple[int, ...]] = {
        leaf: (group.size, live[leaf]) for leaf, group in movable.items() if leaf in live
    }
    problem = SizeProblem(domains, tuple(stored_constants(view, index, domains)))
    least: Sizes = {leaf: live[leaf] for leaf in domains}
    have, bare = problem.totals(problem.present), problem.totals(least)
    return index.read(have).bytes - index.read(bare).bytes if have else 0


class _SizeChoice:
    """One decision in the making, part by part."""

    def __init__(
        self, problem: SizeProblem, hazardous: Set[int], index: MeasureIndex, options: FixOptions, work: SearchWork
    ) -> None:
        self._work = work
        self._problem, self._hazardous, self._index, self._options = problem, hazardous, index, options
        self._policy = policy = POLICIES[options.policy]
        self._levels = policy.objective(index)

    def decision(self, spent: int) -> SizeDecision:
        """The sizes of all parts, within the budget less `spent`."""
        budget = self._options.budget
        growth = None if budget is None else max(0, budget - spent)
        parts = components(self._problem)
        chosen = self._chosen(parts, None)
        if growth is not None:
            final = _merged(sizes for _, sizes in chosen)
            if self._count(final).bytes - self._count(self._problem.present).bytes > growth:
                chosen = self._chosen(self._in_order(parts, chosen), growth)
        repaired = _merged(base for base, _ in chosen)
        best = _merged(final for _, final in chosen)
        final = best if self._worth_it(repaired, best) else repaired
        present = self._problem.present
        changed = {leaf: size for leaf, size in final.items() if size != present[leaf]}
        before, mended, after, least = (self._count(sizes) for sizes in (present, repaired, final, best))
        return SizeDecision(changed, before, mended, after, least, spent, self._without(final), self._work.ended)

    def _without(self, final: Sizes) -> Callable[[int], Count]:
        """Counts with one class as it is and all others at their final sizes."""
        totals, seen, present = self._problem.totals(final), self._problem.by_variable(), self._problem.present

        def without(leaf: int) -> Count:
            back = {**final, leaf: present[leaf]}
            old, new = (SizeProblem({}, tuple(seen[leaf])).totals(sizes) for sizes in (final, back))
            return self._index.read(tuple(map(sum, zip(totals, new, map(neg, old), strict=True))))

        return without

    def _chosen(self, parts: Sequence[SizeProblem], growth: int | None) -> list[tuple[Sizes, Sizes]]:
        """For each part its sizes with hazards repaired, and its best ones."""
        chosen = []
        for part in parts:
            base = self._repaired(part, growth)
            final = self._best(part, base, growth)
            chosen.append((base, final))
            if growth is not None:
                growth -= max(0, self._bytes(part, final) - self._bytes(part, part.present))
        return chosen

    def _repaired(self, part: SizeProblem, growth: int | None) -> Sizes:
        """Present sizes, but for the classes of layers with hazards where other sizes have fewer."""
        present = part.present
        if not self._hazardous & part.domains.keys():
            return present
        domains = {leaf: sizes if leaf in self._hazardous else sizes[:1] for leaf, sizes in part.domains.items()}
        narrow = part._replace(domains=domains)
        mended = solve(
            narrow, self._levels, self._ceilings(part, present, growth, gain=False), self._policy.traded, self._work
        )
        before, after = (self._index.read(part.totals(sizes)) for sizes in (present, mended))
        return mended if sum(after.hazards) < sum(before.hazards) else present

    def _best(self, part: SizeProblem, base: Sizes, growth: int | None) -> Sizes:
        """The best sizes that are worse than `base` on no target."""
        if self._policy.must_gain and not any(self._index.read(part.totals(base)).instructions):
            return base
        domains = {leaf: (base[leaf], *(s for s in sizes if s != base[leaf])) for leaf, sizes in part.domains.items()}
        ceilings = self._ceilings(part, base, growth, gain=self._policy.must_gain)
        return solve(part._replace(domains=domains), self._levels, ceilings, self._policy.traded, self._work)

    def _ceilings(self, part: SizeProblem, base: Sizes, growth: int | None, *, gain: bool) -> dict[int, int]:
        totals = part.totals(base)
        places = [*self._index.hazards, *self._index.risks, *(self._index.instructions if gain else ())]
        bounds = {measure: totals[measure] for measure in places if totals}
        if growth is not None and totals:
            bound = part.totals(part.present)[self._index.bytes] + growth
            bounds[self._index.bytes] = max(bound, totals[self._index.bytes])
        return bounds

    def _worth_it(self, base: Sizes, best: Sizes) -> bool:
        """Tell whether the gain reaches `min_gain`, where the policy asks for one."""
        if not self._policy.must_gain:
            return True
        before, after = self._count(base), self._count(best)
        least = sum(before.instructions) * self._options.min_gain / 100
        return sum(before.instructions) - sum(after.instructions) >= max(least, 1)

    def _in_order(self, parts: Sequence[SizeProblem], chosen: Sequence[tuple[Sizes, Sizes]]) -> list[SizeProblem]:
        """Parts with repairs first, then by the instructions they gain."""

        def key(pair: tuple[SizeProblem, tuple[Sizes, Sizes]]) -> tuple[int, int]:
            part, (_, final) = pair
            before, after = (self._index.read(part.totals(sizes)) for sizes in (part.present, final))
            return sum(after.hazards) - sum(before.hazards), sum(after.instructions) - sum(before.instructions)

        return [part for part, _ in sorted(zip(parts, chosen, strict=True), key=key)]

    def _bytes(self, part: SizeProblem, sizes: Sizes) -> int:
        return self._index.read(part.totals(sizes)).bytes

    def _count(self, sizes: Sizes) -> Count:
        return self._index.read(self._problem.totals(sizes))


def _merged(parts: Iterable[Sizes]) -> Sizes:
    return {leaf: size for part in parts for leaf, size in part.items()}


# The gain of each LOCKED class if it alone were free.


class LockedGain(NamedTuple):
    """A LOCKED class and its best size."""

    group: DimensionClass
    """The class."""
    want: int
    """Size with the fewest instructions that makes no target worse; the present one where there is no better."""
    gain: int
    """Instructions it would save, over all targets."""


def locked_gains(view: PlanningInput, prices: Prices) -> list[LockedGain]:
    """Every LOCKED class by falling gain; equals in the order of the layers."""
    groups = [group for group in view.dimensions.classes if group.freedom is Freedom.LOCKED]
    sites: dict[int, list[Site]] = {group.id: [] for group in groups}
    for site in view.sites:
        for leaf in sites.keys() & site.leaves:
            sites[leaf].append(site)
    gains = (_gain(group, sites[group.id], view, prices) for group in groups)
    return sorted(gains, key=lambda locked: -locked.gain)


def _gain(group: DimensionClass, sites: Sequence[Site], view: PlanningInput, prices: Prices) -> LockedGain:
    """The gain of one class; `sites` are the layers along it."""
    index = MeasureIndex(len(prices.targets))
    domains = {group.id: tuple(range(group.size, group.size + REACH))}
    layers = (layer_factor(site, prices, domains, 1, None) for site in sites)
    factors = (*layers, *unpriced_factors(view, index, domains))
    problem = SizeProblem(domains, factors)
    if not factors:
        return LockedGain(group, group.size, 0)
    before = problem.totals(problem.present)
    ceilings = {measure: before[measure] for measure in (*index.hazards, *index.risks, *index.instructions)}
    levels = (index.level(hazards=1), index.level(unpriced=1), index.level(instructions=1))
    sizes = solve(problem, levels, ceilings, 2, view.work)
    saved = sum(index.read(before).instructions) - sum(index.read(problem.totals(sizes)).instructions)
    return LockedGain(group, sizes[group.id], saved)


# The plan for one model: its layers and classes, its lanes, and the sizes that a policy chooses.


ENDED_LANES = f"the search for dead channels ended early, after {MAX_KNOWN:,} values of tensors: there may be more"
ENDED_SIZES = f"the search for sizes ended early, after {WORK:,} steps: other sizes may be better"


class ModelPlan(NamedTuple):
    """The plan of one model on some targets."""

    view: PlanningInput
    """Layers and classes."""
    prices: Prices
    """Prices of its layers."""
    lanes: Lanes | None
    """Lanes of its classes; None where weights are not to be read."""
    decision: SizeDecision
    """Chosen sizes."""
    options: FixOptions
    """Options of the fix."""
    refused: Mapping[int, str]
    """Classes that had to stay as they are, with the reason."""
    accepted: tuple[Finding, ...] = ()
    """Findings that the user accepted; their classes keep their sizes."""

    @property
    def ended(self) -> tuple[str, ...]:
        """Searches that stopped before they were through, as clauses."""
        return (
            *([ENDED_LANES] if self.lanes is not None and self.lanes.view.ended else []),
            *([ENDED_SIZES] if self.decision.ended else []),
        )


def plan_model(
    view: PlanningInput,
    prices: Prices,
    options: FixOptions,
    refused: Mapping[int, str],
    disproved: Collection[Place] = (),
) -> ModelPlan:
    """Analyse a model and choose sizes.

    `refused` names classes that must stay as they are; `disproved` are places that were seen to hold other values than
    the analysis says.
    """
    lanes = view.model.lanes(disproved) if options.weights else None
    if lanes is not None:
        view = view._replace(new_bias=new_biases(view, lanes, options))
    decision = decide(view, prices, options, live_counts(lanes, options), refused)
    return ModelPlan(view, prices, lanes, decision, options, dict(refused))


def live_counts(lanes: Lanes | None, options: FixOptions) -> dict[int, int]:
    """Number of live lanes of each class that has removable ones."""
    if lanes is None:
        return {}
    counts = {}
    for leaf, group in lanes.classes.items():
        stay = len(group.live) + (0 if options.unsafe else len(group.unsafe))
        if stay < len(group.live) + len(group.exact) + len(group.unsafe):
            counts[leaf] = stay
    return counts


def new_biases(view: PlanningInput, lanes: Lanes, options: FixOptions) -> NewBias:
    """Which layers without a bias get one where lanes of a class go that hold constants other than 0."""
    graph, classes = view.graph, view.dimensions.classes
    slots = {node: slot for node in lanes.readers if (slot := bias_slot(graph, graph.nodes[node])) and not slot.tensor}

    @cache
    def gaining(leaf: int, size: int) -> Set[int]:
        have = classes[leaf].size
        gone = {*range(have)}.difference(kept_lanes(lanes, leaf, have, size, options))
        along = {node: lanes.readers[node] for node in slots if leaf in leaves(lanes.readers[node].axis)}
        return lanes._replace(readers=along).increments({leaf: gone}).keys() if gone else frozenset()

    def bits(site: Site, leaf: int, size: int) -> int:
        node = site.layer.node
        if node.index not in gaining(leaf, size):
            return 0
        slot = slots[node.index]
        if slot.kind == FLOAT:
            return BITS[graph.elem_type(node.inputs[0])]
        return 64 if len(slot.scales) > 1 else 32  # an int32, and the scale of each channel where it is dequantized

    return bits


def kept_lanes(lanes: Lanes | None, leaf: int, have: int, want: int, options: FixOptions) -> tuple[int | None, ...]:
    """Old lane of each of `want` new lanes: live lanes first, then others, then None for new ones."""
    if want >= have or lanes is None:
        return (*range(have), *[None] * (want - have))
    group = lanes.classes[leaf]
    may_go = sorted((*group.exact, *(group.unsafe if options.unsafe else ())))
    gone = set(may_go[len(may_go) - (have - want) :])
    return tuple(lane for lane in range(have) if lane not in gone)


# Layer findings that a class's new size resolves: errors, wrong results and, under `route`, missed kernels.


def answered(plan: ModelPlan, group: DimensionClass) -> Iterator[Finding]:
    """Findings that only this class's new size resolves.

    Only those that the policy acts on; one for each target.
    """
    for site in plan.view.sites:
        if group.id in site.leaves:
            yield from _answered_at(plan, group, site)


def hazards_along(view: PlanningInput, prices: Prices, group: DimensionClass) -> Iterator[Finding]:
    """Findings on errors and wrong results of the layers along a class, one for each target."""
    for site in view.sites:
        if group.id in site.leaves:
            yield from layer_hazards(view.model, prices, site.layer)


def findings_of(model: ModelAnalysis, name: str) -> Iterator[Finding]:
    """Findings of one rule on the model as a whole."""
    subject = ModelSubject(model, model.lowered, code_of)
    for check in (check for check in checks_of(RuleScope.MODEL) if check.rule.name == name):
        yield from check.findings(subject)


def layer_hazards(model: ModelAnalysis, prices: Prices, layer: Layer) -> Iterator[Finding]:
    """Findings on errors and wrong results of one layer, one for each target."""
    for target, price in zip(prices.targets, prices.of_layer(layer), strict=True):
        subject = layer_subject(model, layer, target, price.route)
        for check in (check for check in checks_of(RuleScope.LAYER) if check.rule.action is REPAIR):
            yield from check.findings(subject)


def _answered_at(plan: ModelPlan, group: DimensionClass, site: Site) -> Iterator[Finding]:
    sizes, rules = plan.decision.sizes, POLICIES[plan.options.policy].rules
    after = site.channels(sizes)
    held = site.channels({leaf: size for leaf, size in sizes.items() if leaf != group.id})
    if after is None or held is None:
        return
    prices = (plan.prices.of_layer(site.layer), plan.prices.at(site, held), plan.prices.at(site, after))
    for target, present, still, gone in zip(plan.prices.targets, *prices, strict=True):
        subject = layer_subject(plan.view.model, site.layer, target, present.route)
        for check in (check for check in checks_of(RuleScope.LAYER) if check.rule.code in rules):
            for finding in check.findings(subject):
                if _there(check, finding, still.route) and not _there(check, finding, gone.route):
                    yield finding


def _there(check: LintCheck, finding: Finding, route: Route) -> bool:
    """Whether a finding also holds for another route of its layer."""
    return isinstance(check.run, HazardCheck | RoutingCheck) and check.run.there(finding, route)


# Facts for the rules on sizes: classes that a policy would change, and LOCKED ones with dead channels.


def class_findings(plan: ModelPlan) -> Iterator[Finding]:
    """One finding for each class that would change, and one for each LOCKED class with dead channels.

    Classes that grow to step around a hazard are left to the findings on that (see `repair_prices`).
    """
    for group in plan.view.dimensions.classes:
        if group.id in plan.decision.sizes:
            fact = _change(plan, group)
            if not (fact.grows and fact.repaired):
                yield from _findings(fact)
        elif group.freedom is Freedom.LOCKED and _dead(plan, group) != (0, 0) and group.deciders:
            yield from _findings(_fact(plan, group, group.size))


def repair_prices(plan: ModelPlan) -> tuple[ClassFact, ...]:
    """The classes that grow to step around a hazard."""
    groups = (group for group in plan.view.dimensions.classes if group.id in plan.decision.sizes)
    return tuple(fact for group in groups if (fact := _change(plan, group)).grows and fact.repaired)


def change_finding(plan: ModelPlan, group: DimensionClass) -> Finding:
    """The finding on a class that would change."""
    (finding,) = _findings(_change(plan, group))
    return finding


def asks(plan: ModelPlan, group: DimensionClass, finding: Finding) -> bool:
    """Whether the policy asks for the size itself, not only for a hazard's or a missed kernel's sake."""
    policy, decision, action = POLICIES[plan.options.policy], plan.decision, rule(finding.code).action
    if action is None or policy.name not in action.policies:
        return False
    return action is REMOVE or policy.lowers(decision.after) < policy.lowers(decision.without(group.id))


def _findings(fact: ClassFact) -> Iterator[Finding]:
    return (finding for check in checks_of(RuleScope.CLASS) for finding in check.findings(fact))


def _change(plan: ModelPlan, group: DimensionClass) -> ClassFact:
    """A class that would change, with the model's measures if only the other classes changed."""
    decision = plan.decision
    without = decision.without(group.id)
    pairs = zip(without.instructions, decision.after.instructions, strict=True)
    tensor, axis = _axis_of(plan, group)
    fewer = sum(decision.after.hazards) < sum(without.hazards)
    # Predictions may rest on builds of other releases: `cortex-m55 with CMSIS-NN 7.0.0`.
    targets = plan.prices.targets
    other_builds = [measured_build(target) for target in targets if measured_on(target.release) != target.release]
    return _fact(plan, group, decision.sizes[group.id])._replace(
        tensor=tensor,
        axis=axis,
        saved=tuple(old - new for old, new in pairs),
        measured=tuple(dict.fromkeys(other_builds)),
        bytes=decision.after.bytes - without.bytes,
        plan_saved=tuple(map(sub, decision.before.instructions, decision.after.instructions)),
        repaired=_repaired(plan, group) if fewer else (),
    )


def _fact(plan: ModelPlan, group: DimensionClass, want: int) -> ClassFact:
    graph, (constants, unread) = plan.view.graph, _dead(plan, group)
    node = graph.nodes[(group.deciders or group.readers)[0].node]
    return ClassFact(group, want, node_location(graph.path, node), plan.prices.targets, constants, unread)


def _dead(plan: ModelPlan, group: DimensionClass) -> tuple[int, int]:
    """Constant and unread channels, as far as weights were read."""
    lanes = plan.lanes.classes.get(group.id) if plan.lanes else None
    return (len(lanes.constants), len(lanes.unread)) if lanes else (0, 0)


def _repaired(plan: ModelPlan, group: DimensionClass) -> tuple[tuple[str, str], ...]:
    """Hazard and node of what the model has now and only this new size takes away."""
    findings = (finding for finding in answered(plan, group) if finding.code in codes_of(REPAIR))
    return tuple(dict.fromkeys((str(finding.properties["hazard"]), finding.location.node) for finding in findings))


def _axis_of(plan: ModelPlan, group: DimensionClass) -> tuple[str, int]:
    """A tensor and axis that carry the class alone; the output of a layer that decides it, if there is one."""
    outputs = [plan.view.graph.nodes[decider.node].outputs[0] for decider in group.deciders]
    for tensor, axis in sorted(group.members, key=lambda member: member[0] not in outputs):
        axes = plan.view.dimensions.axes(tensor)
        if axes and axes[axis].form is AxisForm.LEAF and axes[axis].leaf == group.id:
            return tensor, axis
    return group.members[0]


# The plan within the user's settings: a class changes only for a finding that a fix may act on.


Asked = Callable[["Graph", "Finding"], bool]

UNASKED = "its findings are accepted, ignored or not fixable"
"""Why a class stays that would change otherwise."""


class PlanLimits(NamedTuple):
    """Classes that may not change, and the user's settings for findings."""

    refused: Mapping[int, str] = {}
    """Classes that must stay as they are, with the reason; by class id."""
    fixable: Asked = lambda _graph, _finding: True
    """Whether a fix may act on a finding; a class that answers none of these stays as it is."""
    accepted: Asked = lambda _graph, _finding: False
    """Whether a finding is accepted; a class whose size is stays as it is."""


def agreed_plan(
    model: ModelAnalysis, prices: Prices, options: FixOptions, limits: PlanLimits, disproved: Collection[Place] = ()
) -> ModelPlan:
    """Plan until every class that changes answers a finding which a fix may act on; `disproved` as for `survey`."""
    view = planning_input(model, prices, partial(limits.fixable, model.graph))
    refused = dict(limits.refused)
    accepted: list[Finding] = []
    while True:
        plan = plan_model(view, prices, options, refused, disproved)
        groups = [model.dimensions.classes[leaf] for leaf in plan.decision.sizes]
        unasked = {group.id: UNASKED for group in groups if _unasked(plan, group, limits, accepted)}
        if not unasked:
            return plan._replace(accepted=tuple(accepted))
        refused |= unasked


def _unasked(plan: ModelPlan, group: DimensionClass, limits: PlanLimits, accepted: list[Finding]) -> bool:
    """Whether a class lacks a finding to act on. Adds the finding that it keeps."""
    graph, finding = plan.view.graph, change_finding(plan, group)
    if limits.accepted(graph, finding):
        accepted.append(finding)
        return True
    sized = [finding] if asks(plan, group, finding) else []
    if any(limits.fixable(graph, candidate) for candidate in chain(sized, answered(plan, group))):
        return False
    accepted += sized
    return True


# Subgraphs that a class lies in: a loop cannot be proven, a branch only if an input leads into it.


class Holder(NamedTuple):
    """A subgraph by the node that has it."""

    node: Node
    """If, Loop, Scan, or an unknown operator."""
    attribute: str
    """`then_branch`, `else_branch`, `body`."""


def unprovable(graph: Graph, dimensions: Dimensions) -> dict[int, str]:
    """Classes that reach into subgraphs that no input is shown to run, with the reason; by class id."""
    holders = holders_of(graph)
    refusals = {}
    for group in dimensions.classes if holders else ():
        reasons = [_reason(chain) for chain in _chains(graph, holders, group)]
        if group.freedom is not Freedom.LOCKED and any(reasons):
            refusals[group.id] = next(filter(None, reasons))
    return refusals


def branches_of(graph: Graph, group: DimensionClass) -> frozenset[IfBranch]:
    """Branches of If in the main graph that a class reaches into."""
    from onnxlint_cmsis.analysis.fix_results import IfBranch

    chains = _chains(graph, holders_of(graph), group)
    return frozenset(
        IfBranch(node.name or node.outputs[0], node.inputs[0], attribute == "then_branch")
        for node, attribute in (chain[-1] for chain in chains)
        if operator_of(node) is IF
    )


def holders_of(graph: Graph) -> dict[str, Holder]:
    """The holder of each subgraph by its path."""
    return {body.path: Holder(node, body.attribute) for node in graph.nodes for body in node.bodies}


def _chains(graph: Graph, holders: dict[str, Holder], group: DimensionClass) -> set[tuple[Holder, ...]]:
    """Subgraphs around each node along a class, innermost first; none for nodes of the main graph."""
    paths: set[str] = set()
    for tensor, _ in group.members:
        if tensor in graph.producers:
            paths.add(graph.producers[tensor].graph)
        paths.update(node.graph for node in graph.consumers.get(tensor, ()))
    return {chain for path in paths if (chain := tuple(_around(holders, path)))}


def _around(holders: dict[str, Holder], path: str) -> Iterator[Holder]:
    while path in holders:
        yield holders[path]
        path = holders[path].node.graph


def _reason(chain: tuple[Holder, ...]) -> str:
    """Why these subgraphs cannot be proven; empty where they can."""
    for node, attribute in chain:
        if operator_of(node) is not IF:
            return f"a change in the {attribute} of {node.label} cannot be proven: whether that is run is not known"
    if len(chain) > 1:
        outer = chain[-1].node.label
        return f"a change in {chain[0].node.label}, inside a branch of {outer}, cannot be proven"
    return ""
