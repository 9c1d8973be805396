"""Buffers that are alive at a step, by where they lie: those over some bytes are near each other."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from heapq import heappop, heappush

from onnxlint_cmsis.runtimes.tflm.planner import PlannedBuffer


class AliveBuffers:
    """Buffers with offsets, which come in the order of their first steps.

    Those of like size stand together, by their offsets: how far before some bytes one may begin that reaches into
    them is then known, and of those which begin there nearly all do.
    """

    def __init__(self) -> None:
        self._buffers: list[PlannedBuffer] = []
        self._by_size: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        """Offset and position in `_buffers`, by the bits of the size."""
        self._ends: list[tuple[int, int]] = []
        """Heap of the last step and the position."""

    def add(self, buffer: PlannedBuffer) -> None:
        """Add one that begins no earlier than all before."""
        position = len(self._buffers)
        self._buffers.append(buffer)
        insort(self._by_size[buffer.size.bit_length()], (buffer.offset, position))
        heappush(self._ends, (buffer.last, position))

    def end_before(self, step: int) -> None:
        """Drop those whose last step lies before a step."""
        while self._ends and self._ends[0][0] < step:
            _, position = heappop(self._ends)
            buffer = self._buffers[position]
            like = self._by_size[buffer.size.bit_length()]
            del like[bisect_left(like, (buffer.offset, position))]

    def over(self, start: int, end: int) -> list[PlannedBuffer]:
        """Those that have a byte from `start` up to `end`, in the order in which they came."""
        positions = []
        for bits, like in self._by_size.items():
            near = like[bisect_left(like, (start - (1 << bits) + 1,)) : bisect_left(like, (end,))]
            positions += [number for offset, number in near if offset + self._buffers[number].size > start]
        return [self._buffers[position] for position in sorted(positions)]
