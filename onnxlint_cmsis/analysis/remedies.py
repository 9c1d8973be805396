"""What would make a model need less RAM: each change is tried on the plan, and the best one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.arena_plan import ArenaUses
from onnxlint_cmsis.analysis.layer_order import small_order
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import and_more

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.peak import Peak


MOST_STEPS = 300
"""Layers of the largest model that changes are tried on; each is planned again some ten times."""
TRIED = 4
"""How many of the buffers alive at the peak are made smaller."""
SIXTEENTHS = 16
EVERYWHERE = 1.0
"""What it costs to cut channels everywhere, beside the share that is cut: more than in one tensor."""

Plan = Callable[[ArenaUses], int]
"""Bytes that a model needs."""


class Remedy(NamedTuple):
    """One change."""

    bytes: int
    """Bytes that the model would need."""
    cut: float
    """Share of channels that it costs; 0 for a change that leaves the model's numbers alone."""
    text: str
    """The change as a clause behind `with`."""


def best_remedy(uses: ArenaUses, peak: Peak, plan: Plan, room: int, copies: str) -> Remedy | None:
    """The change that makes it fit at the least cost; where none does, the one that saves most. None where none helps.

    `copies` says what the steps that could do without a second buffer would have to do.
    """
    if len(uses.steps) > MOST_STEPS:
        return None
    now = plan(uses)
    changes = (_order(uses, plan), _in_place(uses, plan, copies), _channels(uses, peak, plan, room))
    tried = [*chain.from_iterable(changes), *_fewer_everywhere(uses, plan, room)]
    helping = [remedy for remedy in tried if remedy.bytes < now]
    fitting = [remedy for remedy in helping if remedy.bytes <= room]
    if fitting:
        return min(fitting, key=lambda remedy: (remedy.cut, remedy.bytes))
    return min(helping, key=lambda remedy: remedy.bytes, default=None)


def _order(uses: ArenaUses, plan: Plan) -> Iterator[Remedy]:
    order = small_order(uses)
    moved = next((pair for pair in zip(order, uses.steps, strict=True) if pair[0] != pair[1]), None)
    if moved:
        text = f"{moved[0].label} before {moved[1].label}, and so on: at each point the layer that frees most memory"
        yield Remedy(plan(uses._replace(steps=order)), 0.0, text)


def _in_place(uses: ArenaUses, plan: Plan, copies: str) -> Iterator[Remedy]:
    able = [step for step in uses.steps if step.could and not step.in_place]
    if able:
        steps = tuple(step._replace(in_place=True) if step.could else step for step in uses.steps)
        names = and_more([step.label for step in able], 3)
        yield Remedy(plan(uses._replace(steps=steps)), 0.0, f"{names} {copies}")


def _channels(uses: ArenaUses, peak: Peak, plan: Plan, room: int) -> Iterator[Remedy]:
    """Fewer channels in one of the tensors alive at the peak: as many as fit, or half."""
    fixed = {*uses.inputs, *uses.outputs, *uses.scratch}
    able = [buffer for buffer in peak.alive if buffer not in fixed and uses.channels.get(buffer, 1) > 1]
    for buffer in able[:TRIED]:
        count = uses.channels[buffer]
        left = _most_that_fit(uses, buffer, plan, room) or count // 2
        text = f"{left} instead of {count} channels in '{uses.names[buffer]}'"
        yield Remedy(plan(_with_channels(uses, buffer, left)), 1 - left / count, text)


def _fewer_everywhere(uses: ArenaUses, plan: Plan, room: int) -> Iterator[Remedy]:
    """A share of the channels in every tensor but the model's inputs and outputs: the largest that fits."""
    fixed = {*uses.inputs, *uses.outputs, *uses.scratch}
    able = {buffer: count for buffer, count in uses.channels.items() if buffer in uses.sizes and buffer not in fixed}
    for share in range(SIXTEENTHS - 1, 0, -1):
        sizes = {b: uses.sizes[b] * max(count * share // SIXTEENTHS, 1) // count for b, count in able.items()}
        total = plan(uses._replace(sizes={**uses.sizes, **sizes}))
        if total <= room or share == 1:
            text = f"{share}/{SIXTEENTHS} of the channels in every tensor between input and output"
            yield Remedy(total, EVERYWHERE + 1 - share / SIXTEENTHS, text)
            return


def _most_that_fit(uses: ArenaUses, buffer: int, plan: Plan, room: int) -> int:
    """Most channels with which the model fits, 0 where not even one does."""
    low, high = 0, uses.channels[buffer] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if plan(_with_channels(uses, buffer, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _with_channels(uses: ArenaUses, buffer: int, count: int) -> ArenaUses:
    size = uses.sizes[buffer] * count // uses.channels[buffer]
    return uses._replace(sizes={**uses.sizes, buffer: size})
