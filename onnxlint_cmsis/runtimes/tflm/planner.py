"""Where TensorFlow Lite Micro puts its buffers (lite/micro/memory_planner/greedy_memory_planner.cc).

Largest first; each goes into the first gap among the buffers that are alive at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.taken_bytes import TakenBytes

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


def laid_out(buffers: Sequence[PlannedBuffer]) -> tuple[PlannedBuffer, ...]:
    """The buffers with their offsets, in the order given; an offset that is already there is kept (offline plan)."""
    fixed = [buffer for buffer in buffers if buffer.offset >= 0]
    free = [buffer for buffer in reversed(buffers) if buffer.offset < 0]
    free.sort(key=lambda buffer: -buffer.room)  # stable: of equal sizes the later comes first
    taken = TakenBytes(max((buffer.last for buffer in buffers), default=0))
    for buffer in fixed:
        taken.take(buffer.offset, buffer.room, buffer.first, buffer.last)
    offsets = {buffer.number: taken.take_lowest(buffer.room, buffer.first, buffer.last) for buffer in free}
    return tuple(buffer._replace(offset=offsets.get(buffer.number, buffer.offset)) for buffer in buffers)
