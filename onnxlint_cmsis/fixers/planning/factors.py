"""The factors of a model: measures of its layers, stored constants and classes at other sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import cast

import numpy as np

from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule import RuleScope
from onnxlint_cmsis.checks.rule_registry import LintCheck, checks_of
from onnxlint_cmsis.checks.run_checks import layer_subject
from onnxlint_cmsis.checks.subjects import Subject
from onnxlint_cmsis.cmsis_nn.library import Route
from onnxlint_cmsis.fixers.planning.measures import Count, MeasureIndex, Numbers
from onnxlint_cmsis.fixers.planning.planning_input import Fixable, NewBias, PlanningInput
from onnxlint_cmsis.fixers.planning.prices import LARGEST, Price, Prices, hazards_of, risks_of
from onnxlint_cmsis.fixers.planning.problem import Factor
from onnxlint_cmsis.fixers.planning.sites import Site
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.ground.types import packed_bytes
from onnxlint_cmsis.model.axes import Axis, leaves, resized

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

    def layer(site: Site) -> Factor:
        factor = layer_factor(site, prices, domains, align, misses)
        if view.new_bias is None or site.layer.call.bias:
            return factor
        call = site.layer.call._replace(bias=True)
        biased = layer_factor(site._replace(layer=site.layer._replace(call=call)), prices, domains, align, misses)
        return _with_new_bias(site, factor, biased, index, view.new_bias)

    return (
        *(layer(site) for site in view.sites),
        *(_fixed(prices.of_layer(layer), index) for layer in view.others),
        *stored_constants(view, index, domains),
        *unpriced_factors(view, index, domains),
    )


def misses_in(view: PlanningInput, prices: Prices) -> Misses:
    """Count the satisfiable routing checks of a layer that these channel counts miss.

    Checks on whose finding a fix may not act count only where they are satisfied now.
    """
    wanted: dict[tuple[int, int], tuple[RoutingCheck, ...]] = {}
    for site in view.sites:
        for target_index, (target, price) in enumerate(zip(prices.targets, prices.of_layer(site.layer), strict=True)):
            subject = layer_subject(view.model, site.layer, target, price.route)
            wanted[site.layer.node.index, target_index] = tuple(
                check.run
                for check in checks_of(RuleScope.LAYER)
                if isinstance(check.run, RoutingCheck) and _reachable(check, check.run, subject, view.fixable)
            )

    def count(site: Site, target_index: int, route: Route) -> int:
        return sum(not check.satisfied(route) for check in wanted[site.layer.node.index, target_index])

    return count


def _reachable(check: LintCheck, routing: RoutingCheck, subject: Subject, fixable: Fixable) -> bool:
    """Tell whether the check's kernels run now, or would run with other channel counts."""
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
    present = prices.of_layer(site.layer)

    def tabulate(candidates: Sequence[Sequence[int]]) -> Numbers:
        shape = tuple(map(len, candidates))
        grid = site.grid(scope, candidates)
        if grid is None:
            return index.zeros(*shape)
        inputs, outputs = grid
        which = None
        if not site.plain:  # each pair of channel counts once, and the index of every count among them
            step = int(outputs.max()) + 1
            pairs, which = np.unique(inputs * step + outputs, return_inverse=True)
            inputs, outputs = pairs // step, pairs % step
        table = index.zeros(inputs.size)
        table[index.unaligned] = sum((sizes % align != 0).astype(np.int64) for sizes in (inputs, outputs))
        for target_index, (new, old) in enumerate(zip(prices.columns(site, inputs, outputs), present, strict=True)):
            table[index.hazards[target_index]] = new.of_routes(hazards_of)
            table[index.risks[target_index]] = new.of_routes(risks_of)
            if misses is not None:
                table[index.misses] += new.of_routes(partial(misses, site, target_index))
            if old.instructions is not None:
                # A layer of unknown cost takes no part; one that enters a kernel of unknown cost has the present one.
                table[index.instructions[target_index]] = np.where(new.known, new.instructions, old.instructions)
                table[index.unpriced] += ~new.known
        return (table if which is None else table[:, which]).reshape(-1, *shape)

    return Factor({leaf: domains[leaf] for leaf in scope}, tabulate)


def _with_new_bias(site: Site, plain: Factor, biased: Factor, index: MeasureIndex, new_bias: NewBias) -> Factor:
    """Measures of one layer without a bias; `biased` has those with one, which holds where channels go that need it."""

    def tabulate(candidates: Sequence[Sequence[int]]) -> Numbers:
        table, grid, shape = plain.table(candidates), site.grid(plain.scope, candidates), tuple(map(len, candidates))
        bits = np.zeros(shape, dtype=np.int64)
        for axis, (leaf, sizes) in enumerate(zip(plain.scope, candidates, strict=True)):
            line = np.array([new_bias(site, leaf, size) for size in sizes], dtype=np.int64)
            bits = np.maximum(bits, line.reshape([-1 if other == axis else 1 for other in range(len(shape))]))
        if grid is None or not bits.any():
            return table
        table = np.where(bits > 0, biased.table(candidates), table)
        table[index.bytes] += bits * grid[1].reshape(shape) // 8
        return table

    return Factor(plain.domains, tabulate)


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
    stored: dict[tuple[int, ...], Counter[_Stored]] = {}
    for name in view.graph.constants if names is None else names:
        constant = view.graph.constants[name]
        axes = view.dimensions.axes(name) or ()
        scope = tuple(sorted({leaf for axis in axes for leaf in leaves(axis) if leaf in domains}))
        if scope:
            stored.setdefault(scope, Counter())[axes, BITS.get(constant.elem_type, 8)] += 1
    for scope, constants in stored.items():
        yield _constants(constants, {leaf: domains[leaf] for leaf in scope}, index)


def _constants(constants: Mapping[_Stored, int], domains: Domains, index: MeasureIndex) -> Factor:
    """Bytes of constants along the same classes; in float, which is exact up to LARGEST elements and never wraps."""

    def tabulate(candidates: Sequence[Sequence[int]]) -> Numbers:
        open_grid = np.ix_(*(np.array(sizes, dtype=np.float64) for sizes in candidates))
        at = cast("dict[int, int]", dict(zip(domains, open_grid, strict=True)))
        table = index.zeros(*map(len, candidates))
        for (axes, bits), count in constants.items():
            elements = prod(0 if (size := resized(axis, at)) is None else size for axis in axes)
            table[index.bytes] += packed_bytes(np.minimum(elements, LARGEST).astype(np.int64), bits) * count
        return table

    return Factor(domains, tabulate)


def unpriced_factors(view: PlanningInput, index: MeasureIndex, domains: Domains) -> Iterator[Factor]:
    """Lanes added to classes along nodes of unknown cost."""
    for leaf in sorted(domains.keys() & view.unpriced.keys()):
        yield Factor({leaf: domains[leaf]}, partial(_added_lanes, index, view.dimensions.classes[leaf].size))


def _added_lanes(index: MeasureIndex, have: int, candidates: Sequence[Sequence[int]]) -> Numbers:
    """Measures of one class at each size: the lanes beyond those that it has."""
    (wanted,) = candidates
    table = index.zeros(len(wanted))
    table[index.unpriced] = np.maximum(0, np.array(wanted) - have)
    return table
