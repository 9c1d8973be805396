"""Bytes are taken at the lowest place that is free in all moments, whatever lies there in others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.ground.taken_bytes import CHILDREN, TakenBytes

LAST = CHILDREN**2 + 3
"""A tree of three levels."""
MOMENTS = st.tuples(st.integers(-1, LAST), st.integers(-1, LAST)).map(sorted)
BLOCKS = st.tuples(st.integers(0, 9), MOMENTS, st.none() | st.integers(0, 40))
"""Room, first and last moment, and the place of one that has its own."""


@settings(max_examples=500, deadline=None)
@given(blocks=st.lists(BLOCKS, max_size=30))
def test_a_block_lies_at_the_lowest_place_that_is_free_in_its_moments(
    blocks: list[tuple[int, list[int], int | None]],
) -> None:
    taken = TakenBytes(LAST)
    placed: list[tuple[int, int, int, int]] = []
    for room, (first, last), own in blocks:
        lowest = own or 0
        if own is None:
            for start, end in sorted(block[:2] for block in placed if block[2] <= last and first <= block[3]):
                if lowest + room <= start:
                    break
                lowest = max(lowest, end)
            assert taken.take_lowest(room, first, last) == lowest
        else:
            taken.take(own, room, first, last)
        placed.append((lowest, lowest + room, first, last))
