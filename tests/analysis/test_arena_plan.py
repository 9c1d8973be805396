"""Where buffers lie: the plan looks at those that live together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.arena_plan import ALIGNMENT, ArenaStep, ArenaUses, plan_arena

STEPS = st.lists(st.tuples(st.lists(st.integers(0, 12), max_size=4), st.integers(0, 12)), min_size=1, max_size=10)


def uses_of(steps: list[tuple[list[int], int]], sizes: list[int]) -> ArenaUses:
    """Layers that read buffers and write one; buffer 0 comes from the host, and the last one goes there."""
    layers = tuple(ArenaStep(tuple(read), (written,)) for read, written in steps)
    return ArenaUses(dict(enumerate(sizes)), (0,), layers, (steps[-1][1],))


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, sizes=st.lists(st.integers(0, 200), min_size=13, max_size=13))
def test_each_buffer_lies_at_the_lowest_place_that_is_free_while_it_lives(
    steps: list[tuple[list[int], int]], sizes: list[int]
) -> None:
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
