"""The price of a layer at given channel counts on every target: known hazards and predicted instructions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.cmsis_nn.library import Prediction, Route, route, route_classes
from onnxlint_cmsis.fixers.planning.measures import Numbers
from onnxlint_cmsis.fixers.planning.sites import Channels, Site
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target
from onnxlint_cmsis.lower.layer import Layer

Cost = Callable[[KernelCall, Target, Route], Prediction]
"""Predicted instructions of a call with its route on a target; also of many calls with the same route."""
Routed = Callable[[KernelCall, Target], Route]

Library = Callable[[str, Target], Target]
"""Target whose kernels an entry point has: the library that a runtime brings may be behind the release in some."""


def as_it_is(_entry: str, target: Target) -> Target:
    """The target itself."""
    return target


LARGEST = 2**44
"""Elements of input or output times those of the filter above which a cost counts as unknown. No loop runs more often
than that, so all counts below it are exact in int64 and in floats."""


class Price(NamedTuple):
    """One layer on one target."""

    route: Route
    """What runs it."""
    instructions: int | None
    """Predicted instructions; None where a size or the kernel's cost is unknown."""

    @property
    def hazards(self) -> int:
        """Number of known hazards."""
        return hazards_of(self.route)

    @property
    def risks(self) -> int:
        """Number of known hazards and of those that symbolic sizes leave open."""
        return risks_of(self.route)


def hazards_of(taken: Route) -> int:
    """Number of known hazards."""
    return len(taken.hazards)


def risks_of(taken: Route) -> int:
    """Number of known hazards and of those that symbolic sizes leave open."""
    return len(taken.hazards) + len(taken.open_hazards)


def risks(taken: Route) -> set[str]:
    """Names of the hazards of a route, and of those that symbolic sizes leave open."""
    return {hazard.id for hazard in (*taken.hazards, *taken.open_hazards)}


class Column(NamedTuple):
    """One layer on one target at many channel counts."""

    routes: tuple[Route, ...]
    """What runs it somewhere. Buffer sizes are those of one of the channel counts."""
    which: Numbers
    """Place in `routes` for each of the channel counts."""
    instructions: Numbers
    """Predicted instructions, 0 where unknown."""
    known: NDArray[np.bool_]
    """Where they are known."""

    def of_routes(self, value: Callable[[Route], int]) -> Numbers:
        """Hazards and cost of the routes, for each of the channel counts."""
        return np.array([value(route) for route in self.routes], dtype=np.int64)[self.which]


class Prices:
    """Prices of layers, each worked out once."""

    def __init__(
        self, targets: tuple[Target, ...], cost: Cost, routed: Routed = route, library: Library = as_it_is
    ) -> None:
        """`routed` gives the route of a call on a target, `library` the target whose kernels an entry point has."""
        self.targets = targets
        self._cost, self._routed, self._library = cost, routed, library
        self._known: dict[KernelCall, tuple[Price, ...]] = {}
        self._columns: dict[object, tuple[Column, ...]] = {}

    def at(self, site: Site, channels: Channels) -> tuple[Price, ...]:
        """Price on each target of a layer with these channel counts."""
        return self.of_layer(site.layer._replace(call=site.call(channels)))

    def of_layer(self, layer: Layer) -> tuple[Price, ...]:
        """Price on each target of a layer; one that the first run alone computes costs no instructions."""
        prices = self.of(layer.call)
        return tuple(price._replace(instructions=0) for price in prices) if layer.once else prices

    def of(self, call: KernelCall) -> tuple[Price, ...]:
        """Price on each target of a call."""
        if call not in self._known:
            self._known[call] = tuple(self._price(call, target) for target in self.targets)
        return self._known[call]

    def _price(self, call: KernelCall, target: Target) -> Price:
        taken = self._routed(call, target)
        predicted = self._predicted(call, _countable(call), target, taken)
        return Price(taken, round(predicted.instructions) if predicted.known else None)

    def _predicted(self, calls: KernelCall, countable: bool, target: Target, taken: Route) -> Prediction:
        if not taken.kernel or taken.undecided or not np.any(countable):
            return Prediction(0.0, False)
        predicted = self._cost(calls, self._library(calls.entry, target), taken)
        return predicted._replace(known=predicted.known & countable)

    def columns(self, site: Site, inputs: Numbers, outputs: Numbers) -> tuple[Column, ...]:
        """Prices on each target of a layer at many channel counts, as arrays for speed.

        Layers that are the same but for their names share them.
        """
        first = int(inputs[0]), int(outputs[0])
        if inputs.size == 1:
            return tuple(map(_alone, self.at(site, first)))
        key = site.call(first), site.layer.groups, site.layer.once, inputs.tobytes(), outputs.tobytes()
        if key not in self._columns:
            self._columns[key] = self._new_columns(site, inputs, outputs)
        return self._columns[key]

    def _new_columns(self, site: Site, inputs: Numbers, outputs: Numbers) -> tuple[Column, ...]:
        """A column for each target; targets that CMSIS-NN is built alike for share one."""
        builds = {target[1:]: target for target in self.targets}
        calls = _calls(site, inputs, outputs)
        kernels = tuple(self._library(calls.together.entry, target) for target in builds.values())
        try:
            numbers = route_classes(calls.together, kernels, large=not np.all(calls.countable))
        except OverflowError:
            numbers = (np.arange(inputs.size),) * len(builds)
        columns = {
            build: self._column(site, calls, target, which)
            for (build, target), which in zip(builds.items(), numbers, strict=True)
        }
        return tuple(columns[target[1:]] for target in self.targets)

    def _column(self, site: Site, calls: _Calls, target: Target, which: Numbers) -> Column:
        """Prices on one target; `which` numbers the channel counts, those of one number take the same route."""
        places = np.unique(which, return_index=True)[1].tolist() if np.count_nonzero(which) else [0]
        pairs = ((int(calls.inputs[index]), int(calls.outputs[index])) for index in places)
        routes = tuple(self._routed(site.call(pair), target) for pair in pairs)
        once = site.layer.once
        column = Column(routes, which, np.zeros(which.size, dtype=np.int64), np.full(which.size, once))
        if once:
            return column
        works = _same_work(routes)
        for same in works:
            there = np.isin(which, same) if len(works) > 1 else slice(None)
            some = _calls(site, calls.inputs[there], calls.outputs[there]) if len(works) > 1 else calls
            prediction = self._predicted(some.together, some.countable, target, routes[same[0]])
            column.known[there] = prediction.known
            column.instructions[there] = np.where(prediction.known, np.rint(prediction.instructions), 0)
        return column


class _Calls(NamedTuple):
    """The calls of a layer at many channel counts."""

    inputs: Numbers
    """Input channels."""
    outputs: Numbers
    """Output channels."""
    together: KernelCall
    """All calls as one, whose channel counts are arrays."""
    countable: bool
    """Which of them may be counted; an array, where it is not the same for all."""


def _calls(site: Site, inputs: Numbers, outputs: Numbers) -> _Calls:
    calls = site.calls(inputs, outputs)
    return _Calls(inputs, outputs, calls, _countable(calls))


def _alone(price: Price) -> Column:
    """The column of a single price."""
    known = price.instructions is not None
    return Column((price.route,), np.zeros(1, np.int64), np.array([price.instructions or 0]), np.array([known]))


def _countable(calls: KernelCall) -> bool:
    """Tell if no number of the call is too large and no loop too long; an array for a call that stands for many."""
    if any(isinstance(number, int) and abs(number) >= LARGEST for number in calls.variables().values()):
        return False
    given, kernel, result = (
        prod(1.0 if size is None else 1.0 * size for size in dims)
        for dims in (calls.input_dims, calls.filter_dims, calls.output_dims)
    )
    return (given * kernel < LARGEST) & (result * kernel < LARGEST)


def _same_work(routes: tuple[Route, ...]) -> list[list[int]]:
    """Places of the routes that run the same functions, hazards aside."""
    groups: dict[object, list[int]] = {}
    for index, taken in enumerate(routes):
        way = taken.kernel, taken.chain, taken.effective, taken.status, taken.undecided
        groups.setdefault(way, []).append(index)
    return list(groups.values())
