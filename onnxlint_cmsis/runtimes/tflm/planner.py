"""Where TensorFlow Lite Micro puts its buffers (lite/micro/memory_planner/greedy_memory_planner.cc).

Largest first; each goes into the first gap among the buffers that are alive at the same time.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple

ALIGNMENT = 16


def align(size: int) -> int:
    """The next multiple of 16."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class PlannedBuffer(NamedTuple):
    """One buffer of the plan."""

    number: int
    """Number of the tensor, or of the scratch request behind all tensors."""
    size: int
    """Bytes asked for."""
    first: int
    """First step in which it is alive; -1 for one that no operator touches."""
    last: int
    """Last step in which it is alive."""
    offset: int = -1
    """First byte; -1 where it is still to be placed."""

    @property
    def room(self) -> int:
        """Bytes it takes, a multiple of 16."""
        return align(self.size)

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.offset + self.room


def place(buffers: Sequence[PlannedBuffer]) -> tuple[PlannedBuffer, ...]:
    """The buffers with their offsets, in the order given; an offset that is already there is kept (offline plan)."""
    fixed = [buffer for buffer in buffers if buffer.offset >= 0]
    free = [buffer for buffer in reversed(buffers) if buffer.offset < 0]
    free.sort(key=lambda buffer: -buffer.room)  # stable: of equal sizes the later comes first
    placed: list[_Taken] = []
    offsets: dict[int, int] = {}
    for buffer in (*fixed, *free):
        room = buffer.room
        offset = buffer.offset if buffer.offset >= 0 else _first_gap(buffer, room, placed)
        insort(placed, (offset, len(offsets), buffer.first, buffer.last, offset + room))
        offsets[buffer.number] = offset
    return tuple(buffer._replace(offset=offsets[buffer.number]) for buffer in buffers)


_Taken = tuple[int, int, int, int, int]
"""Offset of a buffer, how many were placed before it, its first and its last step, and the first byte behind it."""


def _first_gap(wanted: PlannedBuffer, room: int, placed: list[_Taken]) -> int:
    """First offset at which a buffer fits between those alive with it; `placed` is in order of offset."""
    begun, ended = wanted.first, wanted.last
    gap = 0
    for offset, _, first, last, end in placed:
        if first <= ended and begun <= last:
            if offset - gap >= room:
                break
            gap = end if end > gap else gap  # max() takes twice as long
    return gap
