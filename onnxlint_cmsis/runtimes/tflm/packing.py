"""Buffers with known lives put into as little memory as a search finds, the same result each time.

First fit in some order reaches every packing worth having, so the search is one over orders: by size, by life, and then
whatever sticks out at the top goes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer

TURNS = 200
"""Orders that are tried at most; most models need one to ten."""
MOST_BUFFERS = 500
"""Buffers of the largest model that is packed; an order takes time with their square."""
WORK = 2_000_000
"""Pairs of buffers that are looked at, at most: a second or two."""


class Packing(NamedTuple):
    """Where every buffer lies."""

    offsets: tuple[int, ...]
    """First byte of each buffer, in the order given."""
    size: int
    """Bytes of all together."""
    bound: int
    """Bytes that the buffers of one step take: no packing is smaller."""


def lower_bound(buffers: Sequence[PlannedBuffer]) -> int:
    """Bytes of the step with the most alive."""
    changes: dict[int, int] = {}
    for buffer in buffers:
        changes[buffer.first] = changes.get(buffer.first, 0) + buffer.room
        changes[buffer.last + 1] = changes.get(buffer.last + 1, 0) - buffer.room
    alive = most = 0
    for step in sorted(changes):
        alive += changes[step]
        most = max(most, alive)
    return most


def pack(buffers: Sequence[PlannedBuffer], most: int = TURNS) -> Packing:
    """The best packing of so many orders at most; the search ends where the lower bound is reached."""
    bound = lower_bound(buffers)
    together = [
        [
            other
            for other, there in enumerate(buffers)
            if other != index and there.first <= here.last and here.first <= there.last
        ]
        for index, here in enumerate(buffers)
    ]
    rooms = [buffer.room for buffer in buffers]
    work = sum(map(len, together)) + len(buffers)
    turns = min(most, max(8, WORK // max(work, 1)))
    best: list[int] | None = None
    size = 0
    for first in _orders(buffers, rooms):
        order, random, stuck = first, Random(0), 0
        while turns > 0 and stuck < most // 4:
            turns -= 1
            offsets = _first_fit(order, rooms, together)
            high = max((offset + room for offset, room in zip(offsets, rooms, strict=True)), default=0)
            stuck += 1
            if best is None or high < size:
                best, size, stuck = offsets, high, 0
            if size <= bound:
                break
            order = _raised(order, offsets, rooms, size, random)
    return Packing(tuple(best or ()), size, bound)


def _orders(buffers: Sequence[PlannedBuffer], rooms: Sequence[int]) -> list[list[int]]:
    numbers = range(len(buffers))
    lives = [buffer.last - buffer.first + 1 for buffer in buffers]
    keys = (
        lambda index: (-rooms[index], -lives[index], index),
        lambda index: (-rooms[index] * lives[index], index),
        lambda index: (-lives[index], -rooms[index], index),
        lambda index: (buffers[index].first, -rooms[index], index),
        lambda index: (-buffers[index].last, -rooms[index], index),
    )
    return [sorted(numbers, key=key) for key in keys]


def _first_fit(order: Sequence[int], rooms: Sequence[int], together: Sequence[Sequence[int]]) -> list[int]:
    """Each buffer in the first gap between those alive with it that were placed before."""
    offsets = [-1] * len(rooms)
    for index in order:
        offset, room = 0, rooms[index]
        for start, end in sorted(
            (offsets[other], offsets[other] + rooms[other]) for other in together[index] if offsets[other] >= 0
        ):
            if start - offset >= room:
                break
            offset = max(offset, end)
        offsets[index] = offset
    return offsets


def _raised(order: list[int], offsets: list[int], rooms: list[int], size: int, random: Random) -> list[int]:
    """An order in which a buffer that ends at or above the best size comes earlier."""
    high = [index for index in order if offsets[index] + rooms[index] >= size]
    chosen = high[random.randrange(len(high))] if high else order[random.randrange(len(order))]
    position = order.index(chosen)
    new = [index for index in order if index != chosen]
    new.insert(random.randrange(position + 1), chosen)
    if random.random() < 1 / 4 and len(new) > 1:
        left, right = random.randrange(len(new)), random.randrange(len(new))
        new[left], new[right] = new[right], new[left]
    return new
