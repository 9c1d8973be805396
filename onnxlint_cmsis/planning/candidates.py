"""Candidate sizes of each class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from onnxlint_cmsis.algebra.axes import leaves, resized
from onnxlint_cmsis.dims.result import DimensionClass
from onnxlint_cmsis.planning.channel_axes import Site
from onnxlint_cmsis.planning.plan_options import FixOptions
from onnxlint_cmsis.planning.planning_input import PlanningInput
from onnxlint_cmsis.planning.policies import POLICIES, REACH
from onnxlint_cmsis.planning.price import Prices
from onnxlint_cmsis.types import KernelCall


def domains_of(
    view: PlanningInput,
    prices: Prices,
    movable: Mapping[int, DimensionClass],
    live: Mapping[int, int],
    options: FixOptions,
) -> dict[int, tuple[int, ...]]:
    """Candidates of each class that may change, the present size first; classes with no other are left out.

    `live` has the number of lanes that must stay, for classes where it is less than the size. A class along a layer
    with a known hazard has all sizes within reach, whatever the policy.
    """
    policy, hazardous = POLICIES[options.policy], hazardous_classes(view, prices)
    named = _named(view, prices, movable) if policy.named else {}
    least = dict.fromkeys(grouped_classes(view), 2)
    found = {}
    for leaf, group in movable.items():
        wanted = {*policy.sizes(group.size, live.get(leaf, group.size), options.align), *named.get(leaf, ())}
        if leaf in hazardous:
            wanted |= {*range(group.size, group.size + REACH)}
        others = sorted(size for size in wanted - {group.size} if size >= least.get(leaf, 1))
        if others:
            found[leaf] = (group.size, *others)
    return found


def hazardous_classes(view: PlanningInput, prices: Prices) -> frozenset[int]:
    """Leaves along the channels of layers that have a known hazard on some target."""
    return frozenset(
        leaf
        for site in view.sites
        if any(price.route.hazards for price in prices.of(site.layer.call))
        for leaf in site.leaves
    )


def grouped_classes(view: PlanningInput) -> Iterator[int]:
    """Leaves of the input channels of layers with groups: with one channel they would be layers of another kind."""
    for site in view.sites:
        if max(site.layer.node.int("group", 1), site.layer.groups) > 1:
            yield from leaves(site.inputs)


def _named(view: PlanningInput, prices: Prices, movable: Collection[int]) -> dict[int, set[int]]:
    """Sizes of single classes for which the conditions of some branch not taken come true."""
    found: dict[int, set[int]] = {}
    wanted: dict[tuple[KernelCall, int], list[int]] = {}
    for site in view.sites:
        chosen = [leaf for leaf in leaves(site.inputs) if leaf in movable]
        kind = site.layer.call, site.factor
        if chosen and kind not in wanted:
            wanted[kind] = list(_wanted(site, prices))
        for leaf in chosen:
            found.setdefault(leaf, set()).update(size for want in wanted[kind] for size in _size_for(site, leaf, want))
    return found


def _wanted(site: Site, prices: Prices) -> Iterator[int]:
    """Input channels that some untaken branch asks for."""
    values = site.layer.call.variables()
    have = values["input_dims.c"]
    tried = (pair for price in prices.of(site.layer.call) for pair in price.route.tried)
    for condition in dict.fromkeys(branch.when for branch, failed in tried if failed and have is not None):
        want = condition.solve(values, "input_dims.c", (have or 0) + REACH * site.factor)
        if want is not None:
            yield want


def _size_for(site: Site, leaf: int, want: int) -> Iterator[int]:
    """The size of the leaf that makes the call's input channels `want`, where there is one."""
    one, two = (resized(site.inputs, {leaf: size}) for size in (1, 2))
    if one is None or two is None or two == one:
        return
    size = 1 + (want // site.factor - one) // (two - one)
    found = site.channels({leaf: size})
    if found is not None and found[0] == want:
        yield size
