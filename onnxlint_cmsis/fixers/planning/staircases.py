"""What a model costs at other widths of one class at a time: for those who choose widths and train anew."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.analysis.activations import activations, element_bytes
from onnxlint_cmsis.analysis.arena_plan import buffer_lifetimes, plan_arena
from onnxlint_cmsis.analysis.dimensions import DimensionClass
from onnxlint_cmsis.fixers.planning.candidates import grouped_classes
from onnxlint_cmsis.fixers.planning.factors import factors_of, layer_factor, stored_constants
from onnxlint_cmsis.fixers.planning.measures import MeasureIndex, Numbers
from onnxlint_cmsis.fixers.planning.modelled_cycles import modelled_cycles
from onnxlint_cmsis.fixers.planning.planning_input import PlanningInput
from onnxlint_cmsis.fixers.planning.prices import Prices
from onnxlint_cmsis.fixers.planning.problem import SizeProblem
from onnxlint_cmsis.fixers.planning.sites import by_leaf
from onnxlint_cmsis.formats.onnx.tensors import BITS
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom, packed_bytes
from onnxlint_cmsis.lower.layer import product_of
from onnxlint_cmsis.model.axes import Axis, all_leaves, resized

CHEAP = 0.005
"""Part of the model's instructions up to which more channels count as costing nothing."""
CLIFF = 3
"""How many times the usual step a step is that counts as a cliff."""
STEEP = 1.5
"""How many times the usual step the step behind a cheap count is at least."""


class WidthStep(NamedTuple):
    """The model with another number of channels in one class."""

    size: int
    """Channels of the class."""
    instructions: tuple[int, ...]
    """Predicted instructions of the whole model on each target, without layers of unknown cost."""
    unknown: bool
    """Whether some layer takes a kernel of unknown cost there; it then counts as now."""
    hazards: tuple[int, ...]
    """Known errors and wrong results of the whole model on each target."""
    flash: int
    """Bytes of the stored constants of the model."""
    arena: int | None
    """Bytes of activations, at least; None where a size is unknown."""
    cycles: tuple[tuple[float, ...], ...] = ()
    """Modelled cycles more than today on each target, for each pair of memories; none without a predicted time, and no
    number where a layer's time is not known."""


class Staircase(NamedTuple):
    """All widths of one class."""

    group: DimensionClass
    """The class."""
    steps: tuple[WidthStep, ...]
    """A step for each number of channels, narrowest first."""
    unpriced: str = ""
    """A node along the class whose cost is unknown and left out; empty where there is none."""
    untried: int = 0
    """Widths within reach that are not among the steps, because the work for a model has a limit."""

    @property
    def present(self) -> WidthStep:
        """The step of the model as it is."""
        return next(step for step in self.steps if step.size == self.group.size)

    def as_cheap(self, target: int) -> int:
        """Largest number of channels that costs hardly more than the present one, without a further hazard.

        The present number where some cost along the class is unknown.
        """
        now = self.present
        if self.unpriced:
            return now.size
        most = now.instructions[target] * (1 + CHEAP)
        fits = [
            step.size
            for step in self.steps
            if step.size >= now.size
            and step.instructions[target] <= most
            and not step.unknown
            and step.hazards[target] <= now.hazards[target]
        ]
        return max(fits, default=now.size)

    def cliffs(self, target: int) -> list[tuple[int, int]]:
        """Sizes at which the cost jumps, and by how many instructions from the size below."""
        costs = [step.instructions[target] for step in self.steps]
        jumps = [after - before for before, after in pairwise(costs)]
        usual = float(np.median(np.abs(jumps))) if jumps else 0
        limit = max(CLIFF * usual, CHEAP * costs[0])
        return [(step.size, jump) for step, jump in zip(self.steps[1:], jumps, strict=True) if jump > limit]

    def cliff(self, target: int) -> tuple[int, int] | None:
        """The cliff nearest to the present size, the larger of two; None where there is none."""
        return min(self.cliffs(target), key=lambda cliff: (abs(cliff[0] - self.group.size), -cliff[0]), default=None)

    def sound(self, target: int) -> tuple[WidthStep, ...]:
        """The steps of known cost without a hazard that the model has not today."""
        most = self.present.hazards[target]
        return tuple(step for step in self.steps if not step.unknown and step.hazards[target] <= most)

    def cheap(self, target: int) -> tuple[WidthStep, ...]:
        """The sound steps to which the cost rises no more than usual, and behind which it rises more."""
        costs = [step.instructions[target] for step in self.steps]
        usual = max(0.0, (costs[-1] - costs[0]) / max(1, len(costs) - 1))
        sound = {step.size for step in self.sound(target)}
        rises = zip(self.steps[1:], pairwise(costs), pairwise(costs[1:]), strict=False)
        return tuple(
            step
            for step, (before, here), (_, behind) in rises
            if step.size in sound and here - before <= usual and behind - here > STEEP * usual
        )

    def nearest(self, target: int) -> tuple[WidthStep | None, WidthStep | None]:
        """The nearest cheap step that is narrower and costs less, and the nearest that is wider.

        Where there is none, the step next to the present one; None where that is not sound either.
        """
        now, cheap = self.present, self.cheap(target)
        beside = {step.size: step for step in self.sound(target)}
        narrower = [s for s in cheap if s.size < now.size and s.instructions[target] < now.instructions[target]]
        wider = [step for step in cheap if step.size > now.size]
        down = narrower[-1] if narrower else beside.get(now.size - 1)
        return down, wider[0] if wider else beside.get(now.size + 1)


WIDTH = 32
"""Buffers that a width costs at least as much as to place: its layers are routed and priced too."""


def staircases(
    view: PlanningInput, prices: Prices, reach: float = 2.0, placements: int = sys.maxsize
) -> Iterator[Staircase]:
    """The widths of each class that is not LOCKED, from today's divided by `reach` to today's times `reach`.

    All other classes stay as they are. Layers in groups keep two channels at least: with one they would be of another
    kind. `placements` limits the work; where it does not suffice, the classes with the most widths have only those
    nearest to today's; a width takes as much as its buffers, and no less than WIDTH.
    """
    groups = [group for group in view.dimensions.classes if group.freedom is not Freedom.LOCKED]
    least = frozenset(grouped_classes(view))
    narrowest = [min(group.size, max(2 if group.id in least else 1, int(group.size / reach))) for group in groups]
    counts = [max(group.size, int(group.size * reach)) - low + 1 for group, low in zip(groups, narrowest, strict=True)]
    model = _Model(view, prices)
    most = max(1, _share(counts, placements // max(model.buffers, WIDTH)))
    for group, count, low in zip(groups, counts, narrowest, strict=True):
        tried = min(count, most)
        first = group.size - (group.size - low) * tried // count
        steps = tuple(model.steps(group, range(first, first + tried)))
        yield Staircase(group, steps, view.unpriced.get(group.id, ""), count - tried)


def _share(counts: Sequence[int], total: int) -> int:
    """How many widths a class may have, so that all classes together have at most `total`."""
    for index, count in enumerate(sorted(counts)):
        share = total // (len(counts) - index)
        if count > share:
            return share
        total -= count
    return max(counts, default=0)


class _Model:
    """A model at other widths of one class; what all classes have in common is worked out once."""

    def __init__(self, view: PlanningInput, prices: Prices) -> None:
        self._view, self._prices = view, prices
        self._index = MeasureIndex(len(prices.targets))
        self._cycles = modelled_cycles(view.model, prices)
        self._present = np.array(
            SizeProblem({}, factors_of(view, prices, {}, 1, None)).totals({}) or self._index.zeros(), dtype=np.int64
        )
        self._sites = by_leaf(view.sites)
        self._constants: dict[int, list[str]] = {}
        for name in view.graph.constants:
            for leaf in {*all_leaves(view.dimensions.axes(name))}:
                self._constants.setdefault(leaf, []).append(name)
        self._stored = _stored(view)
        self._uses = activations(view.graph, view.lowered)
        self._lifetimes = buffer_lifetimes(self._uses) if self._uses else {}
        self._element = element_bytes(view.lowered)
        self._present_arena: int | None = None
        """Bytes of activations at today's widths, which every class has among its own; None until asked for."""
        self._resized: dict[int, list[tuple[int, tuple[Axis, ...]]]] = {}
        for buffer, name in self._uses.names.items() if self._uses else ():
            for leaf in {*all_leaves(view.dimensions.axes(name))}:
                self._resized.setdefault(leaf, []).append((buffer, view.dimensions.axes(name) or ()))

    @property
    def buffers(self) -> int:
        """Buffers that one plan of the arena places; at least 1."""
        return max(1, len(self._lifetimes))

    def steps(self, group: DimensionClass, sizes: range) -> Iterator[WidthStep]:
        """The steps of a class at these sizes, today's among them."""
        index = self._index
        table, cycles = self._table(group, sizes), self._more_cycles(group, sizes)
        now = sizes.index(group.size)
        for column_index, size in enumerate(sizes):
            column = table[:, column_index].tolist()
            yield WidthStep(
                size,
                tuple(column[at] for at in index.instructions),
                bool(column[index.unpriced] > table[index.unpriced, now]),
                tuple(column[at] for at in index.hazards),
                self._stored + int(column[index.bytes] - table[index.bytes, now]),
                self._arena(group.id, size),
                tuple(tuple(more[:, column_index].tolist()) for more in cycles),
            )

    def _table(self, group: DimensionClass, sizes: range) -> Numbers:
        """Measures of the whole model at each size of a class: [measures, sizes]."""
        view, leaf = self._view, group.id
        chosen = (group.size, *sizes)
        domains = {leaf: chosen}
        total = self._index.zeros(len(chosen)) + self._present[:, None]
        for factor in (
            *(layer_factor(site, self._prices, domains, 1, None) for site in self._sites.get(leaf, ())),
            *stored_constants(view, self._index, domains, self._constants.get(leaf, ())),
        ):
            table = factor.table([chosen])
            total += table - table[:, :1]
        # Lanes along a node of unknown cost are no measure here; they are told of the class as a whole.
        return total[:, 1:]

    def _more_cycles(self, group: DimensionClass, sizes: range) -> list[NDArray[np.float64]]:
        """Modelled cycles more than today for each target: [pairs of memories, sizes]."""
        chosen, leaf = (group.size, *sizes), group.id
        more = [np.zeros((self._cycles.pairs(number), len(sizes))) for number in range(len(self._prices.targets))]
        for site in self._sites.get(leaf, ()):
            grid = site.grid((leaf,), [chosen])
            for number, cycles in enumerate(self._cycles.of(site, *grid) if grid else ()):
                more[number] += cycles[:, 1:] - cycles[:, :1]
        return more

    def _arena(self, leaf: int, size: int) -> int | None:
        """Bytes of activations at a size of a class; None where one is unknown."""
        if self._uses is None:
            return None
        sizes = dict(self._uses.sizes)
        for buffer, axes in self._resized.get(leaf, ()):
            elements = product_of(*(resized(axis, {leaf: size}) for axis in axes))
            if elements is None:
                return None
            sizes[buffer] = self._element * elements
        if sizes != self._uses.sizes:
            return plan_arena(self._uses._replace(sizes=sizes), 0, self._lifetimes).size
        if self._present_arena is None:
            self._present_arena = plan_arena(self._uses, 0, self._lifetimes).size
        return self._present_arena


def _stored(view: PlanningInput) -> int:
    """Bytes of the stored constants as they are."""
    total = 0
    for constant in view.graph.constants.values():
        count = int(np.prod(constant.shape, dtype=np.float64)) if constant.shape else 1
        total += packed_bytes(count, BITS.get(constant.elem_type, 8))
    return total
