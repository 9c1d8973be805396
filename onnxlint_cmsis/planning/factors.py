"""The factors of a model: measures of its layers, stored constants and classes at other sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import cast

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.algebra.axes import Axis, leaves, resized
from onnxlint_cmsis.checks.routing_check import RoutingCheck
from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.rule_registry import LintCheck, checks_of
from onnxlint_cmsis.checks.run_checks import layer_subject
from onnxlint_cmsis.checks.subject import Subject
from onnxlint_cmsis.cmsis_nn.route import Route
from onnxlint_cmsis.formats.onnx_graph.elem_types import ELEM_TYPES
from onnxlint_cmsis.planning.channel_axes import Site
from onnxlint_cmsis.planning.measures import Count, MeasureIndex
from onnxlint_cmsis.planning.planning_input import Fixable, PlanningInput
from onnxlint_cmsis.planning.price import LARGEST, Price, Prices, hazards_of, risks_of
from onnxlint_cmsis.planning.problem import Factor, Numbers

_BITS = dict(ELEM_TYPES.values())

Domains = Mapping[int, Sequence[int]]
"""Sizes that each class may take."""
_Stored = tuple[tuple[Axis, ...], int]
"""Axes of a stored constant, and bits of an element."""
Misses = Callable[[Site, int, Route], int]
"""Routing conditions that a layer misses with a route on one target, given by its place among the targets."""


def factors_of(
    view: PlanningInput, prices: Prices, domains: Domains, align: int, misses: Misses | None
) -> tuple[Factor, ...]:
    """Every factor of a model over the classes that may change, with their sizes; those without any are constant."""
    index = MeasureIndex(len(prices.targets))
    return (
        *(layer_factor(site, prices, domains, align, misses) for site in view.sites),
        *(_fixed(prices.of(layer.call), index) for layer in view.others),
        *stored_constants(view, index, domains),
        *unpriced_factors(view, index, domains),
    )


def misses_in(view: PlanningInput, prices: Prices) -> Misses:
    """Count the satisfiable routing checks of a layer that these channel counts miss.

    Checks on whose finding a fix may not act count only where they are satisfied now.
    """
    wanted: dict[tuple[int, int], tuple[RoutingCheck, ...]] = {}
    for site in view.sites:
        for place, (target, price) in enumerate(zip(prices.targets, prices.of(site.layer.call), strict=True)):
            subject = layer_subject(view.model, site.layer, target, price.route)
            wanted[site.layer.node.index, place] = tuple(
                check.run
                for check in checks_of(RuleScope.LAYER)
                if isinstance(check.run, RoutingCheck) and _wanted(check, check.run, subject, view.fixable)
            )

    def count(site: Site, place: int, route: Route) -> int:
        return sum(not check.satisfied(route) for check in wanted[site.layer.node.index, place])

    return count


def _wanted(check: LintCheck, routing: RoutingCheck, subject: Subject, fixable: Fixable) -> bool:
    """Whether the check's kernels run now, or would run with other channel counts."""
    if not routing.concerns(subject.layer.call):
        return False  # leaving arm_convolve_s8 is a loss to a transpose convolution, not to a convolution
    if routing.satisfied(subject.route):
        return True
    if not routing.misses(subject):
        return False
    reached = next(routing.reach(subject), None)
    if reached is None or reached.route.effective in ("", subject.route.effective):
        return False
    return all(map(fixable, check.findings(subject)))


def layer_factor(site: Site, prices: Prices, domains: Domains, align: int, misses: Misses | None) -> Factor:
    """Measures of one layer on every target."""
    index = MeasureIndex(len(prices.targets))
    scope = tuple(leaf for leaf in site.leaves if leaf in domains)
    present = prices.of(site.layer.call)

    def tabulate(candidates: Sequence[Sequence[int]]) -> Numbers:
        shape = tuple(map(len, candidates))
        found = site.grid(scope, candidates)
        if found is None:
            return index.zeros(*shape)
        inputs, outputs, which = _all(*found) if site.plain else _different(*found)
        table = index.zeros(inputs.size)
        table[index.unaligned] = sum((sizes % align != 0).astype(np.int64) for sizes in (inputs, outputs))
        for place, (new, old) in enumerate(zip(prices.columns(site, inputs, outputs), present, strict=True)):
            table[index.hazards[place]] = new.of_routes(hazards_of)
            table[index.risks[place]] = new.of_routes(risks_of)
            if misses is not None:
                table[index.misses] += new.of_routes(partial(misses, site, place))
            if old.instructions is not None:
                # A layer of unknown cost takes no part; one that enters a kernel of unknown cost has the present one.
                table[index.instructions[place]] = np.where(new.known, new.instructions, old.instructions)
                table[index.unpriced] += ~new.known
        return (table if which is None else table[:, which]).reshape(-1, *shape)

    return Factor({leaf: domains[leaf] for leaf in scope}, tabulate)


def _all(inputs: Numbers, outputs: Numbers) -> tuple[Numbers, Numbers, None]:
    """The channel counts unchanged, where none is repeated."""
    return inputs, outputs, None


def _different(inputs: Numbers, outputs: Numbers) -> tuple[Numbers, Numbers, NDArray[np.intp]]:
    """Each pair of channel counts once, and the index of every count among them."""
    step = int(outputs.max()) + 1
    pairs, which = np.unique(inputs * step + outputs, return_inverse=True)
    return pairs // step, pairs % step, which


def _fixed(present: tuple[Price, ...], index: MeasureIndex) -> Factor:
    row = index.row(
        Count(
            hazards=tuple(price.hazards for price in present),
            risks=tuple(price.risks for price in present),
            instructions=tuple(price.instructions or 0 for price in present),
        )
    )
    return Factor({}, lambda _candidates: np.array(row, dtype=np.int64))


def stored_constants(
    view: PlanningInput, index: MeasureIndex, domains: Domains, names: Iterable[str] | None = None
) -> Iterator[Factor]:
    """Bytes of the stored constants along classes that may change: one factor for all that have the same classes.

    `names` are the constants that may be along these classes, where that is known; else all are looked at.
    """
    found: dict[tuple[int, ...], Counter[_Stored]] = {}
    for name in view.graph.constants if names is None else names:
        constant = view.graph.constants[name]
        axes = view.dimensions.axes(name) or ()
        scope = tuple(sorted({leaf for axis in axes for leaf in leaves(axis) if leaf in domains}))
        if scope:
            found.setdefault(scope, Counter())[axes, _BITS.get(constant.elem_type, 8)] += 1
    for scope, constants in found.items():
        yield _constants(constants, {leaf: domains[leaf] for leaf in scope}, index)


def _constants(constants: Mapping[_Stored, int], domains: Domains, index: MeasureIndex) -> Factor:
    """Counted in float, which is exact up to LARGEST elements and never wraps round above."""

    def tabulate(candidates: Sequence[Sequence[int]]) -> Numbers:
        open_grid = np.ix_(*(np.array(sizes, dtype=np.float64) for sizes in candidates))
        at = cast("dict[int, int]", dict(zip(domains, open_grid, strict=True)))
        table = index.zeros(*map(len, candidates))
        for (axes, bits), count in constants.items():
            elements = prod(0 if (size := resized(axis, at)) is None else size for axis in axes)
            table[index.bytes] += (np.minimum(elements, LARGEST).astype(np.int64) * bits + 7) // 8 * count
        return table

    return Factor(domains, tabulate)


def unpriced_factors(view: PlanningInput, index: MeasureIndex, domains: Domains) -> Iterator[Factor]:
    """Lanes added to classes along nodes of unknown cost."""
    for leaf in sorted(domains.keys() & view.unpriced.keys()):
        yield _unpriced(leaf, view.dimensions.classes[leaf].size, domains[leaf], index)


def _unpriced(leaf: int, have: int, sizes: Sequence[int], index: MeasureIndex) -> Factor:
    def tabulate(candidates: Sequence[Sequence[int]]) -> Numbers:
        (wanted,) = candidates
        table = index.zeros(len(wanted))
        table[index.unpriced] = np.maximum(0, np.array(wanted) - have)
        return table

    return Factor({leaf: sizes}, tabulate)
