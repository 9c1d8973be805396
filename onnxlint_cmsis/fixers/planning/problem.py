"""The problem of sizes: candidates, prices, policies and factors of each class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.classes import DimensionClass, Dimensions
from onnxlint_cmsis.checks.kinds import RoutingCheck
from onnxlint_cmsis.checks.rule import RuleScope, Subject
from onnxlint_cmsis.checks.rule_registry import LintCheck, checks_of, codes_of_policy
from onnxlint_cmsis.checks.run_checks import layer_subject
from onnxlint_cmsis.cmsis_nn.library import Prediction, Route, route, route_classes
from onnxlint_cmsis.formats.names import operator_of
from onnxlint_cmsis.formats.onnx.tensors import ELEM_TYPES
from onnxlint_cmsis.ground.findings import Finding
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import POINTWISE, Function, KernelCall, Target
from onnxlint_cmsis.lower.layer import Layer
from onnxlint_cmsis.lower.lowered import Lowered
from onnxlint_cmsis.model.axes import Axis, AxisForm, leaves, resized
from onnxlint_cmsis.model.graph import Graph, Node
from onnxlint_cmsis.operators.movement import PAD
from onnxlint_cmsis.operators.pairwise import ADD, DIV, MAX, MIN, MUL, SUB

if TYPE_CHECKING:
    import numpy.typing as npt


# The axes of a layer's channels, and the layer's call at other sizes of their classes.


Numbers = NDArray[np.int64]
Channels = tuple[int, int]
"""Input and output channels of a call."""


class Site(NamedTuple):
    """A layer whose channel counts are known as axes."""

    layer: Layer
    """The layer."""
    inputs: Axis
    """Axis of `input_dims.c`."""
    outputs: Axis
    """Axis of `output_dims.c`."""
    factor: int
    """`input_dims.c` is this many times the axis."""

    @property
    def leaves(self) -> tuple[int, ...]:
        """Leaves of both axes, each once."""
        return tuple(dict.fromkeys(leaves(self.inputs) + leaves(self.outputs)))

    @property
    def plain(self) -> bool:
        """Whether each axis is one class as a whole, so that other sizes of the classes give other channel counts."""
        return self.inputs.form is self.outputs.form is AxisForm.LEAF

    def channels(self, sizes: Mapping[int, int]) -> Channels | None:
        """Channel counts at these sizes; None where one is symbolic."""
        inputs, outputs = resized(self.inputs, sizes), resized(self.outputs, sizes)
        return None if inputs is None or outputs is None else (inputs * self.factor, outputs)

    def grid(self, scope: Sequence[int], candidates: Sequence[Sequence[int]]) -> tuple[Numbers, Numbers] | None:
        """Input and output channels for every choice of candidates in `scope`; the last leaf varies fastest."""
        axes = np.ix_(*(np.array(sizes, dtype=np.int64) for sizes in candidates))
        channels = self.channels(cast("Mapping[int, int]", dict(zip(scope, axes, strict=True))))
        if channels is None:
            return None
        shape = tuple(len(sizes) for sizes in candidates)
        inputs, outputs = (np.broadcast_to(sizes, shape).ravel() for sizes in channels)
        return inputs, outputs

    def calls(self, inputs: Numbers, outputs: Numbers) -> KernelCall:
        """The calls with these channel counts, arrays of one length, as one call."""
        return self.call(cast("Channels", (inputs, outputs)))

    def call(self, channels: Channels) -> KernelCall:
        """The call with these channel counts and every number that follows from them."""
        inputs, outputs = channels
        layer = self.layer
        if layer.call.function in POINTWISE:
            return _pointwise(layer.call, inputs)
        layer = layer._replace(call=layer.resized("input_dims.c", inputs))
        if layer.call.function is Function.DEPTHWISE:
            return layer.resized("ch_mult", outputs // inputs)
        return layer.resized("output_dims.c", outputs)


def site_of(layer: Layer, dimensions: Dimensions) -> Site | None:
    """The layer's channel axes; None where they are not known."""
    if layer.call.function in POINTWISE:
        axis = _channel_axis(layer, dimensions.axes(layer.node.inputs[0]))
        return None if axis is None else _checked(Site(layer, axis, axis, 1))
    places = [layer.channels.get(name) for name in ("input_dims.c", "output_dims.c")]
    if None in places:
        return None
    located = [(dimensions.axes(channels.tensor), channels) for channels in places if channels]
    if any(axes is None for axes, _ in located):
        return None
    (inputs, first), (outputs, second) = located
    assert inputs is not None
    assert outputs is not None
    if first.axis >= len(inputs) or second.axis >= len(outputs):
        return None
    return _checked(Site(layer, inputs[first.axis], outputs[second.axis], first.factor))


def _checked(site: Site) -> Site | None:
    """The site, if its axes have the sizes of the call."""
    call = site.layer.call
    return site if site.channels({}) == (call.input_dims.c, call.output_dims.c) else None


def _channel_axis(layer: Layer, axes: tuple[Axis, ...] | None) -> Axis | None:
    """Axis of a layer's channels: where it says, or where ONNX has them."""
    if not axes or len(axes) > 4:
        return None
    if "input_dims.c" in layer.channels:
        return axes[layer.channels["input_dims.c"].axis]
    return axes[1] if len(axes) > 2 else axes[-1]


def _pointwise(call: KernelCall, channels: int) -> KernelCall:
    """The call with other channels; a second operand of one channel that is spread over them keeps it."""
    spread = call.filter_dims.c != call.input_dims.c
    one_operand = call.function in (Function.AVERAGE_POOL, Function.MAX_POOL)
    call = call._replace(
        input_dims=call.input_dims._replace(c=channels), output_dims=call.output_dims._replace(c=channels)
    )
    if spread or one_operand:
        return call
    return call._replace(filter_dims=call.filter_dims._replace(c=channels))


# A fix as data: the lanes that every class keeps and gains.


Kept = Mapping[int, tuple[int | None, ...]]
"""Class id to the old lane that each new lane holds, None for a new zero lane."""


@dataclass(frozen=True, eq=False)
class Plan:
    """New lanes of every class that changes; a class that is not named keeps all its lanes."""

    kept: dict[int, tuple[int | None, ...]]
    """Class id to the old lane that each new lane holds, None for a new zero lane."""
    increments: Mapping[int, npt.NDArray[np.generic]] = field(default_factory=dict)
    """`Node.index` of a reader to what its bias gains per output channel: along the old output axis, in the bias' own
    unit, integers where the bias is stored in integers."""
    read: Mapping[str, npt.NDArray[np.bool_]] | None = None
    """Elements of every tensor that count for some output, the others may change; None where all count.

    Of the tensor's rank, with length 1 along axes where nothing differs; a tensor that is not named counts nowhere.
    """

    @property
    def sizes(self) -> dict[int, int]:
        """New size of every class that changes."""
        return {leaf: len(lanes) for leaf, lanes in self.kept.items()}


class PlanStep(NamedTuple):
    """One plan and the model that it is for."""

    graph: Graph
    """The model before the plan."""
    dimensions: Dimensions
    """Classes of that model."""
    plan: Plan
    """What changes."""


# The price of a layer at given channel counts on every target: known hazards and predicted instructions.


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
        predicted = self._predicted(call, target, taken)
        return Price(taken, round(predicted.instructions) if predicted.known else None)

    def _predicted(self, calls: KernelCall, target: Target, taken: Route) -> Prediction:
        countable = _countable(calls)
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
        calls = site.calls(inputs, outputs)
        if np.all(_countable(calls)):
            kernels = tuple(self._library(calls.entry, target) for target in builds.values())
            numbers = route_classes(calls, kernels)
        else:
            numbers = (np.arange(inputs.size),) * len(builds)
        columns = {
            build: self._column(site, inputs, outputs, target, which)
            for (build, target), which in zip(builds.items(), numbers, strict=True)
        }
        return tuple(columns[target[1:]] for target in self.targets)

    def _column(self, site: Site, inputs: Numbers, outputs: Numbers, target: Target, which: Numbers) -> Column:
        """Prices on one target; `which` numbers the channel counts, those of one number take the same route."""
        places = np.unique(which, return_index=True)[1].tolist()
        routes = tuple(self._routed(site.call((int(inputs[index]), int(outputs[index]))), target) for index in places)
        once = site.layer.once
        column = Column(routes, which, np.zeros(inputs.size, dtype=np.int64), np.full(inputs.size, once))
        if once:
            return column
        works = _same_work(routes)
        for same in works:
            there = np.isin(which, same) if len(works) > 1 else np.ones(inputs.size, dtype=bool)
            prediction = self._predicted(site.calls(inputs[there], outputs[there]), target, routes[same[0]])
            column.known[there] = prediction.known
            column.instructions[there] = np.where(prediction.known, np.rint(prediction.instructions), 0)
        return column


def _alone(price: Price) -> Column:
    """The column of a single price."""
    known = price.instructions is not None
    return Column((price.route,), np.zeros(1, np.int64), np.array([price.instructions or 0]), np.array([known]))


def _countable(calls: KernelCall) -> bool:
    """Whether no number of the call is too large and no loop too long; an array for a call that stands for many."""
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


# The search for sizes as data: variables with candidate sizes, and factors that measure each choice.


Sizes = dict[int, int]
"""Variable to size."""
Measures = tuple[int, ...]
"""Hazards, instructions, bytes and the like, in the order of `MeasureIndex`."""
Level = tuple[int, ...]
"""Weight of each measure in one level of an objective; an earlier level goes before every later one."""


Tabulate = Callable[[Sequence[Sequence[int]]], Numbers]
"""From candidates of each variable of a scope to all measures: [measures, first candidates, second candidates, ...]."""

WORK = 100_000_000
"""Units of work that all searches for one plan of a model may take together."""
FACTOR_WORK = 1_000
"""Units for one table of a factor besides its cells."""
KEPT_CELLS = 2**16
"""Cells of the largest table that a factor keeps."""


class SearchWork:
    """What searches for sizes may still do, counted so that they end at the same place on every machine."""

    def __init__(self, units: int = WORK) -> None:
        """`units` are cells of tables, and `FACTOR_WORK` more for each table that a factor makes."""
        self._units = units
        self.ended = False
        """Whether a search stopped because too few units were left."""

    def take(self, units: int) -> bool:
        """Take units; False where fewer are left, and from then on."""
        self._units -= units
        self.ended = self.ended or self._units < 0
        return not self.ended


class Factor:
    """A layer, stored tensor or class with measures that depend on a few variables."""

    def __init__(self, domains: Mapping[int, Sequence[int]], tabulate: Tabulate) -> None:
        """`domains` has the variables and the sizes to keep in the table."""
        self.scope = tuple(domains)
        self.domains = domains
        self._tabulate = tabulate
        self._domains = tuple(domains.values())
        self._indices = [{size: index for index, size in enumerate(sizes)} for sizes in self._domains]
        self._cells: dict[tuple[int, ...], Measures] = {}

    @cached_property
    def _kept(self) -> Numbers | None:
        """The table over the domains, unless it is too large."""
        return self._tabulate(self._domains) if prod(map(len, self._domains)) <= KEPT_CELLS else None

    def table(self, candidates: Sequence[Sequence[int]]) -> Numbers:
        """All measures for these candidates of each variable of the scope."""
        if self._kept is None:
            return self._tabulate(candidates)
        if tuple(candidates) == self._domains:
            return self._kept
        pairs = list(zip(candidates, self._indices, strict=True))
        if not all(size in places for sizes, places in pairs for size in sizes):
            return self._tabulate(candidates)
        table = self._kept
        for axis, (sizes, places) in enumerate(pairs, 1):
            table = table.take([places[size] for size in sizes], axis)
        return table

    def measure(self, sizes: tuple[int, ...]) -> Measures:
        """Measures at the sizes of the scope, in its order."""
        if sizes not in self._cells:
            self._cells[sizes] = tuple(self.table([(size,) for size in sizes]).reshape(-1).tolist())
        return self._cells[sizes]


class SizeProblem(NamedTuple):
    """Variables and factors; a solution picks one candidate for each variable."""

    domains: dict[int, tuple[int, ...]]
    """Variable to its candidates; the first is the present size."""
    factors: tuple[Factor, ...]
    """Their measures add up."""

    @property
    def present(self) -> Sizes:
        """The sizes as they are."""
        return {variable: candidates[0] for variable, candidates in self.domains.items()}

    def totals(self, sizes: Mapping[int, int]) -> Measures:
        """Sum of every measure over all factors; empty where there is no factor."""
        return added(factor.measure(tuple(sizes[variable] for variable in factor.scope)) for factor in self.factors)

    def by_variable(self) -> dict[int, list[Factor]]:
        """The factors of each variable, in order."""
        factors: dict[int, list[Factor]] = {variable: [] for variable in self.domains}
        for factor in self.factors:
            for variable in factor.scope:
                factors[variable].append(factor)
        return factors


def added(rows: Iterable[Measures]) -> Measures:
    """Measures added one by one."""
    return tuple(map(sum, zip(*rows, strict=True)))


def scores(levels: Sequence[Level], measures: Measures) -> tuple[int, ...]:
    """Value of each level of an objective; the less, the better, in order."""
    return tuple(sum(weight * value for weight, value in zip(level, measures, strict=True)) for level in levels)


def components(problem: SizeProblem) -> list[SizeProblem]:
    """Independent parts of a problem, by shared variables; factors without variables are left out."""
    leader = {variable: variable for variable in problem.domains}

    def lead(variable: int) -> int:
        while leader[variable] != variable:
            leader[variable] = variable = leader[leader[variable]]
        return variable

    for factor in problem.factors:
        for variable in factor.scope:
            leader[lead(variable)] = lead(factor.scope[0])
    parts: dict[int, SizeProblem] = {}
    for variable, candidates in problem.domains.items():
        parts.setdefault(lead(variable), SizeProblem({}, ())).domains[variable] = candidates
    factors: dict[int, list[Factor]] = {}
    for factor in problem.factors:
        if factor.scope:
            factors.setdefault(lead(factor.scope[0]), []).append(factor)
    return [part._replace(factors=tuple(factors.get(root, ()))) for root, part in parts.items()]


# Input of planning: the channel axes of its layers, and the classes whose growth has unknown cost.


Fixable = Callable[[Finding], bool]
"""Whether a fix may act on a finding: its rule runs on the file and is fixable, and no suppression accepts it."""

FREE_WITH_CONSTANT = (ADD, DIV, MAX, MIN, MUL, SUB)
"""Operators that are fused into a layer where one operand is constant: bias, scale, clip."""


NewBias = Callable[[Site, int, int], int]
"""Bits of one element of the bias that a layer without one gets where a class has so many channels; 0 for no bias."""


class PlanningInput(NamedTuple):
    """One model on some targets."""

    model: ModelAnalysis
    """The model."""
    sites: tuple[Site, ...]
    """Layers whose channel counts are axes of classes."""
    others: tuple[Layer, ...]
    """All other layers; their prices do not move."""
    unpriced: dict[int, str]
    """Class to the label of a node along it that has no known cost."""
    fixable: Fixable
    """Which findings on layers count."""
    work: SearchWork
    """What the searches for sizes may still do together."""
    new_bias: NewBias | None = None
    """Biases that take up the constants of channels that go; None where no channel can."""

    @property
    def graph(self) -> Graph:
        """Graph of the model."""
        return self.model.graph

    @property
    def lowered(self) -> Lowered:
        """Layers of the model."""
        return self.model.lowered

    @property
    def dimensions(self) -> Dimensions:
        """Classes of the model."""
        return self.model.dimensions


def planning_input(model: ModelAnalysis, prices: Prices, fixable: Fixable = lambda _finding: True) -> PlanningInput:
    """Planning's input from a model."""
    layers = [(layer, site_of(layer, model.dimensions)) for layer in model.lowered.layers]
    sites = tuple(site for _, site in layers if site)
    others = tuple(layer for layer, site in layers if site is None)
    return PlanningInput(model, sites, others, _unpriced(model, sites, prices), fixable, SearchWork())


def _unpriced(model: ModelAnalysis, sites: tuple[Site, ...], prices: Prices) -> dict[int, str]:
    """Classes along a node whose cost is unknown, with the first such node."""
    graph, lowered, dimensions = model.graph, model.lowered, model.dimensions
    priced = {
        site.layer.node.index: set(site.leaves)
        for site in sites
        if all(price.instructions is not None for price in prices.of_layer(site.layer))
    }
    folded = {label for layer in lowered.layers for label in layer.folded}
    fused = {node.index for layer in lowered.layers for node in layer.fused}
    foreign = {node.index for node, _ in lowered.foreign}
    reasons: dict[int, str] = {}
    for node in graph.nodes:
        free = node.index in fused or (operator_of(node) is PAD and node.label in folded) or _free(graph, node)
        if node.index not in graph.once and (node.index in foreign or not free):
            for leaf in _leaves(node, graph, dimensions):
                if dimensions.class_with_id(leaf) and leaf not in priced.get(node.index, ()):
                    reasons.setdefault(leaf, node.label)
    return reasons


def _free(graph: Graph, node: Node) -> bool:
    """Whether an operator costs nothing."""
    operator = operator_of(node)
    if operator in FREE_WITH_CONSTANT:
        return any(name in graph.constants or _dequantized(graph, name) for name in node.inputs)
    return operator.free


def _dequantized(graph: Graph, name: str) -> bool:
    """Tell whether a tensor is a stored constant behind DequantizeLinear."""
    producer = graph.producers.get(name)
    return producer is not None and operator_of(producer).dequantizes and producer.inputs[0] in graph.constants


def _leaves(node: Node, graph: Graph, dimensions: Dimensions) -> Iterator[int]:
    """Leaves along the run-time tensors of a node."""
    for name in (*node.inputs, *node.outputs):
        if name and name not in graph.constants and not _dequantized(graph, name):
            for axis in dimensions.axes(name) or ():
                yield from leaves(axis)


# The measures of a choice of sizes, and their order in a row.


class Count(NamedTuple):
    """Measures of one factor, or their weights in one level of an objective."""

    hazards: tuple[int, ...] = ()
    """Known hazards of each target."""
    risks: tuple[int, ...] = ()
    """Known and open hazards of each target; no policy lowers them, none may raise them."""
    instructions: tuple[int, ...] = ()
    """Instructions of all layers on each target."""
    unpriced: int = 0
    """Lanes added, and kernels entered, at unknown cost."""
    misses: int = 0
    """Missed routing conditions."""
    unaligned: int = 0
    """Channel counts off the multiple of `align`."""
    bytes: int = 0
    """Bytes of stored constants."""


class MeasureIndex(NamedTuple):
    """Places of the measures for a number of targets."""

    targets: int
    """Number of targets."""

    def row(self, count: Count) -> Measures:
        """The measures as a row; a missing tuple stands for zeros."""
        zeros = (0,) * self.targets
        rest = count.unpriced, count.misses, count.unaligned, count.bytes
        of_targets = (count.hazards or zeros, count.risks or zeros, count.instructions or zeros)
        return (*chain(*of_targets), *rest)

    def zeros(self, *shape: int) -> Numbers:
        """Measures that are all 0: [measures, *shape]."""
        return np.zeros((3 * self.targets + 4, *shape), dtype=np.int64)

    def level(self, *, hazards: int = 0, instructions: int = 0, **weights: int) -> Level:
        """Weights of one level, the same for every target."""
        count = Count((hazards,) * self.targets, (), (instructions,) * self.targets, **weights)
        return self.row(count)

    def read(self, measures: Measures) -> Count:
        """A row by name."""
        measures = measures or self.row(Count())
        first, second, third = (self.targets * kinds for kinds in (1, 2, 3))
        return Count(measures[:first], measures[first:second], measures[second:third], *measures[third:])

    @property
    def hazards(self) -> range:
        """Places of the known hazards."""
        return range(self.targets)

    @property
    def risks(self) -> range:
        """Places of the hazards, known and open."""
        return range(self.targets, 2 * self.targets)

    @property
    def instructions(self) -> range:
        """Places of the instructions."""
        return range(2 * self.targets, 3 * self.targets)

    @property
    def unpriced(self) -> int:
        """Place of the lanes of unknown cost."""
        return 3 * self.targets

    @property
    def misses(self) -> int:
        """Place of the missed conditions."""
        return 3 * self.targets + 1

    @property
    def unaligned(self) -> int:
        """Place of the channel counts off the multiple."""
        return 3 * self.targets + 2

    @property
    def bytes(self) -> int:
        """Place of the bytes."""
        return 3 * self.targets + 3


# The factors of a model: measures of its layers, stored constants and classes at other sizes.


BITS = dict(ELEM_TYPES.values())
"""Bits of an element of a stored tensor, by its type."""

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
            table[index.bytes] += (np.minimum(elements, LARGEST).astype(np.int64) * bits + 7) // 8 * count
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


# The user's options of a fix.


class FixOptions(NamedTuple):
    """One way to fix."""

    policy: str = "faster"
    """Name of a row of `POLICIES`."""
    align: int = 4
    """Multiple that the policy `align` pads to."""
    min_gain: float = 0.5
    """Percent of the predicted instructions that the policy `faster` has to gain on the whole model."""
    budget: int | None = None
    """Bytes that the constants may grow by at most; None for no bound."""
    unsafe: bool = False
    """Whether float biases may take up constants, which is not exact."""
    weights: bool = True
    """Whether weights may be read to find channels that do nothing."""


# The policies as data: the sizes a class may take, and the objective to minimise.


REACH = 32
"""Consecutive sizes looked at: two periods of the longest block of any kernel, 16 lanes."""


class Policy(NamedTuple):
    """One way to choose sizes."""

    name: str
    """Value of --fix-policy."""
    sizes: Callable[[int, int, int], range]
    """Candidate sizes of a class, from its present size, its live lanes and `align`."""
    objective: Callable[[MeasureIndex], tuple[Level, ...]]
    """Levels to minimise, in order."""
    traded: int
    """Level in which bytes are traded for it where the growth is bounded."""
    must_gain: bool
    """Whether instructions may rise on no target and have to fall by `min_gain`."""
    named: bool
    """Whether sizes that routing conditions name are candidates too."""
    lowers: Callable[[Count], int]
    """Objective that a new size must improve; a size that improves nothing but hazards answers only them."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of the rules that it acts on; one that does not run on a file changes nothing there."""
        return codes_of_policy(self.name)


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy(
            "faster",
            sizes=lambda _have, live, _align: range(live, live + REACH),
            objective=lambda index: (
                index.level(hazards=1),
                index.level(unpriced=1),
                index.level(instructions=1),
                index.level(bytes=1),
            ),
            traded=2,
            must_gain=True,
            named=True,
            lowers=lambda count: sum(count.instructions),
        ),
        Policy(
            "route",
            sizes=lambda have, _live, _align: range(have, have + REACH),
            objective=lambda index: (index.level(hazards=1), index.level(misses=1), index.level(bytes=1)),
            traded=1,
            must_gain=False,
            named=True,
            lowers=lambda count: count.misses,
        ),
        Policy(
            "align",
            sizes=lambda have, _live, align: range(have, -(-have // align) * align + 1),
            objective=lambda index: (index.level(hazards=1), index.level(unaligned=1), index.level(bytes=1)),
            traded=1,
            must_gain=False,
            named=False,
            lowers=lambda count: count.unaligned,
        ),
    )
}
"""Policies by name."""


# Candidate sizes of each class.


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
    domains = {}
    for leaf, group in movable.items():
        wanted = {*policy.sizes(group.size, live.get(leaf, group.size), options.align), *named.get(leaf, ())}
        if leaf in hazardous:
            wanted |= {*range(group.size, group.size + REACH)}
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
