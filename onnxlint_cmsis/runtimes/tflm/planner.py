"""Where TensorFlow Lite Micro puts its buffers (lite/micro/memory_planner/greedy_memory_planner.cc).

Largest first; each goes into the first gap among the buffers that are alive at the same time.
"""

from __future__ import annotations

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
    placed: list[PlannedBuffer] = []
    for buffer in (*fixed, *free):
        located = buffer if buffer.offset >= 0 else buffer._replace(offset=_first_gap(buffer, placed))
        position = next((i for i, other in enumerate(placed) if other.offset > located.offset), len(placed))
        placed.insert(position, located)
    by_number = {buffer.number: buffer for buffer in placed}
    return tuple(by_number[buffer.number] for buffer in buffers)


def _first_gap(wanted: PlannedBuffer, placed: list[PlannedBuffer]) -> int:
    """First offset at which a buffer fits between those alive with it; `placed` is in order of offset."""
    offset = 0
    for other in placed:
        if other.first > wanted.last or wanted.first > other.last:
            continue
        if other.offset - offset >= wanted.room:
            break
        offset = max(offset, other.end)
    return offset
