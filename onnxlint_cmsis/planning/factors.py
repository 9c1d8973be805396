"""The factors of a model: what its layers, its stored constants and its classes measure at other sizes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache

from onnxlint_cmsis.checks.registry import CHECKS
from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.checks.subject import Model, Subject
from onnxlint_cmsis.dims.axes import Axis, leaves, resized
from onnxlint_cmsis.onnx_graph.elem_types import ELEM_TYPES
from onnxlint_cmsis.planning.measures import Count, Layout
from onnxlint_cmsis.planning.price import Price, Prices
from onnxlint_cmsis.planning.problem import Factor, Measures
from onnxlint_cmsis.planning.sites import Channels, Site
from onnxlint_cmsis.planning.view import Fixable, View

_BITS = dict(ELEM_TYPES.values())

Misses = Callable[[Site, tuple[Price, ...]], int]
"""Routing conditions that a layer misses at these prices."""


def factors_of(
    view: View, prices: Prices, variables: Collection[int], align: int, misses: Misses
) -> tuple[Factor, ...]:
    """Every factor of a model over the classes that may change; those without any are constant."""
    layout = Layout(len(prices.targets))
    chosen = frozenset(variables)
    return (
        *(_layer(site, prices, chosen, align, misses) for site in view.sites),
        *(_fixed(prices.of(layer.call), layout) for layer in view.others),
        *_constants(view, layout, chosen),
        *(_blind(leaf, view.dimensions.classes[leaf].size, layout) for leaf in sorted(chosen & view.blind.keys())),
    )


def no_misses(_site: Site, _prices: tuple[Price, ...]) -> int:
    """For policies that ask for no route."""
    return 0


def misses_in(view: View, prices: Prices) -> Misses:
    """Count the routing checks that a layer would satisfy with other channel counts, or satisfies now, and misses.

    Checks on whose finding a fix may not act count only where they are satisfied now.
    """
    model = Model(view.graph, view.dimensions)
    wanted: dict[tuple[int, int], tuple[RoutingCheck, ...]] = {}
    for site in view.sites:
        for place, (target, price) in enumerate(zip(prices.targets, prices.of(site.layer.call), strict=True)):
            subject = Subject(model, site.layer, target, price.route)
            wanted[site.layer.node.index, place] = tuple(
                check for check in CHECKS if isinstance(check, RoutingCheck) and _wanted(check, subject, view.fixable)
            )

    def count(site: Site, prices: tuple[Price, ...]) -> int:
        return sum(
            not check.satisfied(price.route)
            for place, price in enumerate(prices)
            for check in wanted[site.layer.node.index, place]
        )

    return count


def _wanted(check: RoutingCheck, subject: Subject, fixable: Fixable) -> bool:
    """Tell whether the check's kernels run now, or would with other channel counts and do other work."""
    if check.satisfied(subject.route):
        return True
    if not check.misses(subject):
        return False
    reached = next(check.reach(subject), None)
    if reached is None or reached.route.effective in ("", subject.route.effective):
        return False
    return all(map(fixable, check.run(subject)))


def _layer(site: Site, prices: Prices, chosen: frozenset[int], align: int, misses: Misses) -> Factor:
    layout = Layout(len(prices.targets))
    scope = tuple(leaf for leaf in site.leaves if leaf in chosen)
    present = prices.of(site.layer.call)

    @cache
    def at(channels: Channels) -> Measures:
        found = prices.at(site, channels)
        known = [
            new.instructions is not None
            for new, old in zip(found, present, strict=True)
            if old.instructions is not None
        ]
        return layout.row(
            Count(
                hazards=tuple(price.hazards for price in found),
                risks=tuple(price.risks for price in found),
                instructions=tuple(map(_instructions, found, present)),
                blind=len(known) - sum(known),
                misses=misses(site, found),
                unaligned=sum(size % align != 0 for size in channels),
            )
        )

    def measure(sizes: tuple[int, ...]) -> Measures:
        channels = site.channels(dict(zip(scope, sizes, strict=True)))
        return layout.row(Count()) if channels is None else at(channels)

    def prepare(cells: Sequence[tuple[int, ...]]) -> None:
        found = (site.channels(dict(zip(scope, sizes, strict=True))) for sizes in cells)
        prices.prepare(site, dict.fromkeys(channels for channels in found if channels is not None))

    return Factor(scope, measure, prepare)


def _instructions(new: Price, old: Price) -> int:
    """A layer of unknown cost takes no part; one that enters a kernel of unknown cost neither gains nor loses."""
    if old.instructions is None:
        return 0
    return old.instructions if new.instructions is None else new.instructions


def _fixed(present: tuple[Price, ...], layout: Layout) -> Factor:
    row = layout.row(
        Count(
            hazards=tuple(price.hazards for price in present),
            risks=tuple(price.risks for price in present),
            instructions=tuple(price.instructions or 0 for price in present),
        )
    )
    return Factor((), lambda _sizes: row)


def _constants(view: View, layout: Layout, chosen: frozenset[int]) -> Iterator[Factor]:
    """Bytes of each stored constant along a class that may change."""
    for name, constant in view.graph.constants.items():
        axes = view.dimensions.axes(name) or ()
        scope = tuple(dict.fromkeys(leaf for axis in axes for leaf in leaves(axis) if leaf in chosen))
        if scope:
            yield _constant(axes, scope, _BITS.get(constant.elem_type, 8), layout)


def _constant(axes: tuple[Axis, ...], scope: tuple[int, ...], bits: int, layout: Layout) -> Factor:
    @cache
    def measure(sizes: tuple[int, ...]) -> Measures:
        at, elements = dict(zip(scope, sizes, strict=True)), 1
        for axis in axes:
            elements *= resized(axis, at) or 0
        return layout.row(Count(bytes=(elements * bits + 7) // 8))

    return Factor(scope, measure)


def _blind(leaf: int, have: int, layout: Layout) -> Factor:
    return Factor((leaf,), lambda sizes: layout.row(Count(blind=max(0, sizes[0] - have))))
