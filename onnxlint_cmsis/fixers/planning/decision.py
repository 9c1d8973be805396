"""The sizes that a policy chooses, within hazards, budget and least gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import neg

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.candidates import domains_of, hazardous_classes
from onnxlint_cmsis.fixers.planning.factors import factors_of, misses_in, stored_constants
from onnxlint_cmsis.fixers.planning.measures import Count, MeasureIndex
from onnxlint_cmsis.fixers.planning.memory_bound import take_longer_together
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
from onnxlint_cmsis.fixers.planning.policies import POLICIES, FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.problem import SearchWork, SizeProblem, Sizes, components
from onnxlint_cmsis.fixers.planning.solve import solve
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom


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
        """Tell whether hazards go away."""
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
    index, hazardous = MeasureIndex(len(prices.targets)), hazardous_classes(view, prices)
    spent = 0 if options.budget is None else _spent(view, index, movable, live)

    def decided(domains: dict[int, tuple[int, ...]]) -> SizeDecision:
        problem = SizeProblem(domains, factors_of(view, prices, domains, options.align, misses))
        return _SizeChoice(problem, hazardous, index, options, view.work).decision(spent)

    decision = decided(domains)
    if POLICIES[options.policy].must_gain and take_longer_together(view, prices, decision.sizes):
        return decided({leaf: sizes for leaf, sizes in domains.items() if leaf in hazardous})
    return decision


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
