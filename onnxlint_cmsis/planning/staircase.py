"""What a model costs at other widths of one class at a time: for those who choose widths and train anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from onnxlint_cmsis.algebra.axes import leaves, resized
from onnxlint_cmsis.formats.onnx_graph.elem_types import ELEM_TYPES
from onnxlint_cmsis.memory.activations import activations
from onnxlint_cmsis.memory.arena_plan import plan_arena
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.candidates import grouped_classes
from onnxlint_cmsis.planning.factors import factors_of
from onnxlint_cmsis.planning.measures import MeasureIndex
from onnxlint_cmsis.types import Freedom

if TYPE_CHECKING:
    from onnxlint_cmsis.dims.result import DimensionClass
    from onnxlint_cmsis.planning.planning_input import PlanningInput
    from onnxlint_cmsis.planning.price import Prices
    from onnxlint_cmsis.planning.problem import Numbers

CHEAP = 0.005
"""Part of the model's instructions up to which more channels count as costing nothing."""
CLIFF = 3
"""How many times the usual step a step is that counts as a cliff."""


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


class Staircase(NamedTuple):
    """All widths of one class."""

    group: DimensionClass
    """The class."""
    steps: tuple[WidthStep, ...]
    """A step for each number of channels, narrowest first."""
    unpriced: str = ""
    """A node along the class whose cost is unknown and left out; empty where there is none."""

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
        usual = median(abs(jump) for jump in jumps) if jumps else 0
        limit = max(CLIFF * usual, CHEAP * costs[0])
        return [(step.size, jump) for step, jump in zip(self.steps[1:], jumps, strict=True) if jump > limit]

    def dips(self, target: int) -> list[int]:
        """Sizes that cost less than the size below."""
        costs = [step.instructions[target] for step in self.steps]
        pairs = zip(self.steps[1:], costs, costs[1:], strict=False)
        return [step.size for step, before, after in pairs if after < before]


def staircases(view: PlanningInput, prices: Prices, reach: float = 2.0) -> Iterator[Staircase]:
    """The widths of each class that is not LOCKED, from today's divided by `reach` to today's times `reach`.

    All other classes stay as they are. Layers in groups keep two channels at least: with one they would be of another
    kind.
    """
    least = frozenset(grouped_classes(view))
    for group in view.dimensions.classes:
        if group.freedom is Freedom.LOCKED:
            continue
        narrowest = max(2 if group.id in least else 1, int(group.size / reach))
        sizes = range(narrowest, max(group.size, int(group.size * reach)) + 1)
        yield Staircase(group, tuple(_steps(view, prices, group, sizes)), view.unpriced.get(group.id, ""))


def _steps(view: PlanningInput, prices: Prices, group: DimensionClass, sizes: Iterable[int]) -> Iterator[WidthStep]:
    chosen = (group.size, *(size for size in sizes if size != group.size))
    index = MeasureIndex(len(prices.targets))
    table = _table(view, prices, group.id, chosen, index)
    stored = _stored(view)
    own = table[index.bytes]
    for place in sorted(range(len(chosen)), key=lambda place: chosen[place]):
        column = table[:, place].tolist()
        yield WidthStep(
            chosen[place],
            tuple(column[at] for at in index.instructions),
            bool(column[index.unpriced] > table[index.unpriced, 0]),
            tuple(column[at] for at in index.hazards),
            stored + int(own[place] - own[0]),
            _arena(view, {group.id: chosen[place]}),
        )


def _table(view: PlanningInput, prices: Prices, leaf: int, sizes: tuple[int, ...], index: MeasureIndex) -> Numbers:
    """Measures of the whole model at each size of one class: [measures, sizes]."""
    total = index.zeros(len(sizes))
    for factor in factors_of(view, prices, {leaf: sizes}, 1, None):
        found = factor.table([sizes] if factor.scope else [])
        total += found if factor.scope else found.reshape(-1, 1)
    if leaf in view.unpriced:  # lanes along a node of unknown cost count there; told of the class as a whole
        total[index.unpriced] -= np.maximum(0, np.array(sizes) - sizes[0])
    return total


def _stored(view: PlanningInput) -> int:
    """Bytes of the stored constants as they are."""
    bits = dict(ELEM_TYPES.values())
    total = 0
    for constant in view.graph.constants.values():
        count = int(np.prod(constant.shape, dtype=np.float64)) if constant.shape else 1
        total += (count * bits.get(constant.elem_type, 8) + 7) // 8
    return total


def _arena(view: PlanningInput, sizes: Mapping[int, int]) -> int | None:
    """Bytes of activations with other sizes; None where one is unknown."""
    tensors = dict(view.graph.tensors)
    for name, tensor in view.graph.tensors.items():
        axes = view.dimensions.axes(name)
        if axes and any(leaf in sizes for axis in axes for leaf in leaves(axis)):
            tensors[name] = tensor._replace(shape=tuple(resized(axis, sizes) for axis in axes))
    uses = activations(replace(view.graph, tensors=tensors), view.lowered)
    return None if uses is None else plan_arena(uses).size
