"""What would make a model need less RAM: each change is tried on the plan, and the best one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from math import log

from onnxlint_cmsis.analysis.arena_plan import ArenaUses
from onnxlint_cmsis.analysis.dimensions import DimensionClass, Dimensions
from onnxlint_cmsis.analysis.layer_order import small_order
from onnxlint_cmsis.analysis.peak import peak_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Freedom
from onnxlint_cmsis.ground.words import and_more
from onnxlint_cmsis.model.axes import leaves, resized

MOST_STEPS = 300
"""Layers of the largest model that changes are tried on; each is planned again some ten times."""
TRIED = 4
"""How many sets of channel counts that meet in a buffer at the peak are made smaller."""
SIXTEENTHS = 16
EVERYWHERE = 1.0
"""What it costs to cut channels everywhere, beside how much narrower layers get: more than in some layers."""

Plan = Callable[[ArenaUses], int]
"""Bytes that a model needs."""


class RamRemedy(NamedTuple):
    """One change."""

    bytes: int
    """Bytes that the model would need."""
    cut: float
    """Logarithms of how much narrower layers get, summed; 0 for a change that leaves the model's numbers alone."""
    text: str
    """The change as a clause behind `with`."""


def best_remedy(
    uses: ArenaUses, plan: Plan, room: int, copies: str, dimensions: Callable[[], Dimensions]
) -> RamRemedy | None:
    """The change that makes it fit at the least cost; where none does, the one that saves most. None where none helps.

    `copies` says what the steps that could do without a second buffer would have to do. `dimensions` tells which
    channel counts move together; the names of `uses` are its tensors.
    """
    if len(uses.steps) > MOST_STEPS:
        return None
    now = plan(uses)
    widths = _fewer_channels(uses, plan, room, dimensions())
    changes = (_order(uses, plan), _in_place(uses, plan, copies), widths)
    tried = [*chain.from_iterable(changes), *_fewer_everywhere(uses, plan, room)]
    helping = [remedy for remedy in tried if remedy.bytes < now]
    fitting = [remedy for remedy in helping if remedy.bytes <= room]
    if fitting:
        return min(fitting, key=lambda remedy: (remedy.cut, remedy.bytes))
    return min(helping, key=lambda remedy: remedy.bytes, default=None)


def _order(uses: ArenaUses, plan: Plan) -> Iterator[RamRemedy]:
    order = small_order(uses)
    moved = next((pair for pair in zip(order, uses.steps, strict=True) if pair[0] != pair[1]), None)
    if moved:
        text = f"{moved[0].label} before {moved[1].label}, and so on: at each point the layer that frees most memory"
        yield RamRemedy(plan(uses._replace(steps=order)), 0.0, text)


def _in_place(uses: ArenaUses, plan: Plan, copies: str) -> Iterator[RamRemedy]:
    able = [step for step in uses.steps if step.could and not step.in_place]
    if able:
        steps = tuple(step._replace(in_place=True) if step.could else step for step in uses.steps)
        names = and_more([step.label for step in able], 3)
        yield RamRemedy(plan(uses._replace(steps=steps)), 0.0, f"{names} {copies}")


def _fewer_channels(uses: ArenaUses, plan: Plan, room: int, dimensions: Dimensions) -> Iterator[RamRemedy]:
    """Fewer channels in the layers that decide a buffer alive at the peak: as many as fit, or half.

    Those of a concatenation are decided by the layers in front of it, and every buffer that has them follows.
    """
    sets = dict.fromkeys(
        _decided(dimensions, uses.names[buffer]) for buffer in peak_of(uses).alive if buffer in uses.names
    )
    for groups in [groups for groups in sets if groups][:TRIED]:
        most = max(group.size for group in groups)

        def cut(left: int, groups: tuple[DimensionClass, ...] = groups, most: int = most) -> ArenaUses:
            return uses._replace(sizes=_sizes_with(uses, dimensions, _scaled(groups, left, most)))

        left = _most_that_fit(lambda left, cut=cut: plan(cut(left)) <= room, most) or most // 2  # type: ignore[misc]
        sizes = _scaled(groups, left, most)
        text = " and ".join(
            f"{sizes[group.id]} instead of {group.size} channels in "
            + and_more([f"{layer.op_type} '{layer.label}'" for layer in group.deciders], 3)
            for group in groups
        )
        yield RamRemedy(plan(cut(left)), sum(log(group.size / sizes[group.id]) for group in groups), text)


def _scaled(groups: tuple[DimensionClass, ...], left: int, most: int) -> dict[int, int]:
    """Channels of each class where the widest, of `most`, has `left`."""
    return {group.id: max(group.size * left // most, 1) for group in groups}


def _decided(dimensions: Dimensions, tensor: str) -> tuple[DimensionClass, ...]:
    """The channel counts of a tensor that may change, each once."""
    numbers = dict.fromkeys(chain.from_iterable(leaves(axis) for axis in dimensions.axes(tensor) or ()))
    groups = filter(None, map(dimensions.class_with_id, numbers))
    return tuple(group for group in groups if group.freedom is not Freedom.LOCKED and group.size > 1)


def _sizes_with(uses: ArenaUses, dimensions: Dimensions, sizes: Mapping[int, int]) -> dict[int, int]:
    """Bytes of every buffer when classes have these sizes."""
    now = dict(uses.sizes)
    for buffer in now.keys() & uses.names.keys():
        for axis in dimensions.axes(uses.names[buffer]) or ():
            if axis.size and (size := resized(axis, sizes)) is not None:
                now[buffer] = now[buffer] * size // axis.size
    return now


def _fewer_everywhere(uses: ArenaUses, plan: Plan, room: int) -> Iterator[RamRemedy]:
    """A share of the channels in every tensor but the model's inputs and outputs: the largest that fits."""
    fixed = {*uses.inputs, *uses.outputs, *uses.scratch}
    able = {buffer: count for buffer, count in uses.channels.items() if buffer in uses.sizes and buffer not in fixed}
    for share in range(SIXTEENTHS - 1, 0, -1):
        sizes = {b: uses.sizes[b] * max(count * share // SIXTEENTHS, 1) // count for b, count in able.items()}
        total = plan(uses._replace(sizes={**uses.sizes, **sizes}))
        if total <= room or share == 1:
            text = f"{share}/{SIXTEENTHS} of the channels in every tensor between input and output"
            yield RamRemedy(total, EVERYWHERE + log(SIXTEENTHS / share), text)
            return


def _most_that_fit(fits: Callable[[int], bool], count: int) -> int:
    """Most channels below `count` with which the model fits, 0 where not even one does."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
