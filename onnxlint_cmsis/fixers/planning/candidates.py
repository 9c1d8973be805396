"""The sizes that each class may take."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.memory_bound import may_take_longer
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
from onnxlint_cmsis.fixers.planning.policies import POLICIES, REACH, FixOptions
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.sites import Site, by_leaf
from onnxlint_cmsis.ground.types import KernelCall
from onnxlint_cmsis.model.axes import leaves, resized


def domains_of(
    view: PlanningInput,
    prices: Prices,
    movable: Mapping[int, DimensionClass],
    live: Mapping[int, int],
    options: FixOptions,
) -> dict[int, tuple[int, ...]]:
    """Candidates of each class that may change, the present size first; classes with no other are left out.

    `live` has the number of lanes that must stay, for classes where it is less than the size. A class along a layer
    with a known hazard has all sizes within reach, whatever the policy. Without one, a policy that has to gain leaves
    out sizes that may take longer.
    """
    policy, hazardous = POLICIES[options.policy], hazardous_classes(view, prices)
    named = _named(view, prices, movable) if policy.named else {}
    least = dict.fromkeys(grouped_classes(view), 2)
    domains, along = {}, by_leaf(view.sites)
    for leaf, group in movable.items():
        wanted = {*policy.sizes(group.size, live.get(leaf, group.size), options.align), *named.get(leaf, ())}
        if leaf in hazardous:
            wanted |= {*range(group.size, group.size + REACH)}
        elif policy.must_gain:
            wanted -= may_take_longer(view, prices, group, along.get(leaf, ()), wanted)
        others = sorted(size for size in wanted - {group.size} if size >= least.get(leaf, 1))
        if others:
            domains[leaf] = (group.size, *others)
    return domains


def hazardous_classes(view: PlanningInput, prices: Prices) -> frozenset[int]:
    """Leaves along the channels of layers that have a known hazard on some target."""
    return frozenset(
        leaf
        for site in view.sites
        if any(price.route.hazards for price in prices.of_layer(site.layer))
        for leaf in site.leaves
    )


def grouped_classes(view: PlanningInput) -> Iterator[int]:
    """Leaves of the input channels of layers with groups: with one channel they would be layers of another kind."""
    for site in view.sites:
        if max(site.layer.node.int("group", 1), site.layer.groups) > 1:
            yield from leaves(site.inputs)


def _named(view: PlanningInput, prices: Prices, movable: Collection[int]) -> dict[int, set[int]]:
    """Sizes of single classes for which the conditions of some branch not taken come true."""
    named: dict[int, set[int]] = {}
    wanted: dict[tuple[KernelCall, int], list[int]] = {}
    for site in view.sites:
        chosen = [leaf for leaf in leaves(site.inputs) if leaf in movable]
        kind = site.layer.call, site.factor
        if chosen and kind not in wanted:
            wanted[kind] = list(_wanted_channels(site, prices))
        for leaf in chosen:
            named.setdefault(leaf, set()).update(size for want in wanted[kind] for size in _size_for(site, leaf, want))
    return named


def _wanted_channels(site: Site, prices: Prices) -> Iterator[int]:
    """Input channels that some untaken branch asks for."""
    values = site.layer.call.variables()
    have = values["input_dims.c"]
    tried = (pair for price in prices.of_layer(site.layer) for pair in price.route.tried)
    for condition in dict.fromkeys(branch.when for branch, failed in tried if failed and have is not None):
        want = condition.solve(values, "input_dims.c", (have or 0) + REACH * site.factor)
        if want is not None:
            yield want


def _size_for(site: Site, leaf: int, want: int) -> Iterator[int]:
    """The size of the leaf that makes the call's input channels `want`, where there is one."""
    first, second = (resized(site.inputs, {leaf: size}) for size in (1, 2))
    if first is None or second is None or second == first:
        return
    size = 1 + (want // site.factor - first) // (second - first)
    channels = site.channels({leaf: size})
    if channels is not None and channels[0] == want:
        yield size
