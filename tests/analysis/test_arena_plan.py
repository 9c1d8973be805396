"""Where buffers lie: the plan looks at those that live together, and takes no time for those that do not."""

from __future__ import annotations

import time
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.analysis import arena_plan
from onnxlint_cmsis.analysis.arena_plan import ALIGNMENT, ArenaStep, ArenaUses, plan_arena

STEPS = st.lists(st.tuples(st.lists(st.integers(0, 12), max_size=4), st.integers(0, 12)), min_size=1, max_size=10)


def uses_of(steps: list[tuple[list[int], int]], sizes: list[int]) -> ArenaUses:
    """Layers that read buffers and write one; buffer 0 comes from the host, and the last one goes there."""
    layers = tuple(ArenaStep(tuple(read), (written,)) for read, written in steps)
    return ArenaUses(dict(enumerate(sizes)), (0,), layers, (steps[-1][1],))


@pytest.mark.parametrize("long", [0, 3, arena_plan.LONG])
@settings(max_examples=200, deadline=None)
@given(steps=STEPS, sizes=st.lists(st.integers(0, 200), min_size=13, max_size=13))
def test_each_buffer_lies_at_the_lowest_place_that_is_free_while_it_lives(
    long: int, steps: list[tuple[list[int], int]], sizes: list[int]
) -> None:
    """However many moments make a life a long one."""
    with patch.object(arena_plan, "LONG", long):
        plan = plan_arena(uses_of(steps, sizes))
    placed: list[int] = []
    for buffer in sorted(plan.offsets, key=lambda buffer: (-sizes[buffer], buffer)):
        first, last = plan.lifetimes[buffer]
        together = [o for o in placed if plan.lifetimes[o][0] <= last and first <= plan.lifetimes[o][1]]
        room = -(-sizes[buffer] // ALIGNMENT) * ALIGNMENT
        taken = sorted((plan.offsets[o], plan.offsets[o] - (-sizes[o] // ALIGNMENT) * ALIGNMENT) for o in together)
        lowest = 0
        for start, end in taken:
            if lowest + room <= start:
                break
            lowest = max(lowest, end)
        assert plan.offsets[buffer] == lowest
        placed.append(buffer)


def test_two_thousand_branches_that_meet_are_planned_at_once() -> None:
    """Each of them lives with all others: a file of 45 KB took more than a minute."""
    count = 2000
    branches = [([0], number) for number in range(1, count + 1)]
    steps = [*branches, ([number for _, number in branches], count + 1)]
    began = time.process_time()
    plan = plan_arena(uses_of(steps, [16] * (count + 2)))
    assert time.process_time() - began < 15
    assert plan.size == 16 * (count + 1)  # the result lies where the input lay
