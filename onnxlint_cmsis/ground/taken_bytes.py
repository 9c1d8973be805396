"""Bytes of a memory that are taken, each in some moments alone: a tree over moments finds the lowest gap."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

Spans = list[tuple[int, int]]
"""Start and end of runs of bytes, in order; no two of them touch."""
BITS = 3
"""A node of the tree has two to the power of so many children: few levels for a short plan, few children for a long."""
CHILDREN = 1 << BITS


class TakenBytes:
    """Bytes that blocks take, each from a first to a last moment; moments count from -1.

    A node of the tree stands for its moments, which its children share out. Thousands of blocks that lie wall to wall
    are one run, however many of them live at once.
    """

    def __init__(self, last: int) -> None:
        """`last` is the last moment of all."""
        self._leaves = 1 << -(-(last + 1).bit_length() // BITS) * BITS
        self._parts: defaultdict[int, Spans] = defaultdict(list)
        """What is taken in some of a node's moments."""
        self._wholes: defaultdict[int, Spans] = defaultdict(list)
        """What blocks take that live in all moments of a node, and not in all of its parent's."""

    def take_lowest(self, room: int, first: int, last: int) -> int:
        """Take `room` bytes at the lowest place that is free from moment `first` to `last`; the first of them."""
        within, across = self._nodes(first, last)
        spans = [span for node in within for span in self._parts.get(node, ())]
        for node in across:
            spans += self._wholes.get(node, ())
        spans.sort()
        gap = 0
        for start, end in spans:
            if start - gap >= room:
                break
            gap = end if end > gap else gap  # max() takes twice as long
        self._add(gap, gap + room, within, across)
        return gap

    def take(self, start: int, room: int, first: int, last: int) -> None:
        """Take `room` bytes from `start` on in the moments from `first` to `last`; some may be taken already."""
        self._add(start, start + room, *self._nodes(first, last))

    def _nodes(self, first: int, last: int) -> tuple[list[int], list[int]]:
        """The largest nodes whose moments are all among these; those above that hold the first or the last of them."""
        left, right = self._leaves + first + 1, self._leaves + last + 2
        within: list[int] = []
        across: list[int] = []
        above, beyond = left >> BITS, right - 1 >> BITS
        while above:
            across += (above,) if above == beyond else (above, beyond)
            above, beyond = above >> BITS, beyond >> BITS
        while left < right:
            while left % CHILDREN and left < right:
                within.append(left)
                left += 1
            while right % CHILDREN and left < right:
                right -= 1
                within.append(right)
            left, right = left >> BITS, right >> BITS
        return within, across

    def _add(self, start: int, end: int, within: list[int], across: list[int]) -> None:
        for node in within:
            _join(self._wholes[node], start, end)
        for node in (*within, *across):
            _join(self._parts[node], start, end)


def _join(spans: Spans, start: int, end: int) -> None:
    """Add a run of bytes; those that touch become one."""
    if not spans or spans[-1][1] < start:
        spans.append((start, end))
        return
    low = bisect_left(spans, (start,))
    if low and spans[low - 1][1] >= start:
        low -= 1
        start = spans[low][0]
    high = low
    while high < len(spans) and spans[high][0] <= end:
        end = max(end, spans[high][1])
        high += 1
    spans[low:high] = [(start, end)]
