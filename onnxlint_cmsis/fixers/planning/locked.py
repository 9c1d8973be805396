"""The gain of each LOCKED class if it alone were free."""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.factors import layer_factor, unpriced_factors
from onnxlint_cmsis.fixers.planning.measures import MeasureIndex
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
from onnxlint_cmsis.fixers.planning.policies import REACH
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.problem import SizeProblem
from onnxlint_cmsis.fixers.planning.sites import Site
from onnxlint_cmsis.fixers.planning.solve import solve
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom


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
