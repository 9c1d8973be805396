"""What a layer at given channel counts is worth on every target: known hazards and predicted instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from onnxlint_cmsis.cmsis_nn.alike import alike, columns
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.planning.sites import Channels, Site
from onnxlint_cmsis.types import KernelCall, Target

Cost = Callable[[KernelCall, Target, Route], "int | None"]
"""Predicted instructions of a call with its route on a target, None where nothing is known."""


class Price(NamedTuple):
    """One layer on one target."""

    route: Route
    """What runs it. Its buffer sizes may be those of other channel counts with the same kernel."""
    instructions: int | None
    """Predicted instructions; None where a size or the kernel's cost is unknown."""

    @property
    def hazards(self) -> int:
        """Number of known hazards."""
        return len(self.route.hazards)

    @property
    def risks(self) -> int:
        """Number of known hazards and of those that symbolic sizes leave open."""
        return len(self.route.hazards) + len(self.route.open_hazards)


class Prices:
    """Prices of layers, each worked out once."""

    def __init__(self, targets: tuple[Target, ...], cost: Cost) -> None:
        self.targets = targets
        self._cost = cost
        self._known: dict[KernelCall, tuple[Price, ...]] = {}

    def at(self, site: Site, channels: Channels) -> tuple[Price, ...]:
        """Price on each target of a layer with these channel counts."""
        return self.of(site.call(channels))

    def of(self, call: KernelCall) -> tuple[Price, ...]:
        """Price on each target of a call."""
        if call not in self._known:
            self._known[call] = tuple(self._price(call, target, route(call, target)) for target in self.targets)
        return self._known[call]

    def prepare(self, site: Site, channels: Iterable[Channels]) -> None:
        """Work out the prices of a layer with many channel counts at once, which is quicker than one by one."""
        calls = [call for call in map(site.call, channels) if call not in self._known]
        if calls:
            together = columns(calls)
            by_target = [self._many(calls, alike(together, target), target) for target in self.targets]
            self._known.update(zip(calls, zip(*by_target, strict=True), strict=True))

    def _many(self, calls: list[KernelCall], numbers: list[int], target: Target) -> list[Price]:
        routes: dict[int, Route] = {}
        prices = []
        for call, number in zip(calls, numbers, strict=True):
            if number not in routes:
                routes[number] = route(call, target)
            prices.append(self._price(call, target, routes[number]))
        return prices

    def _price(self, call: KernelCall, target: Target, taken: Route) -> Price:
        instructions = self._cost(call, target, taken) if taken.kernel and not taken.undecided else None
        return Price(taken, instructions)
