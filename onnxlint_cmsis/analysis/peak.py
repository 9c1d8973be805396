"""When most bytes are alive, and which buffers these are."""

from __future__ import annotations

from onnxlint_cmsis.analysis.arena_plan import ArenaUses, buffer_lifetimes, buffer_owners
from onnxlint_cmsis.ground.named_tuples import NamedTuple


class Peak(NamedTuple):
    """The step with the most bytes alive."""

    step: int
    """Its number; -1 for the host in front of the first step, the number of steps for the host behind the last."""
    alive: tuple[int, ...]
    """Buffers alive, the largest first; of those that share a place the largest."""
    bytes: int
    """Bytes of these."""


def peak_of(uses: ArenaUses) -> Peak:
    """The first step with the most bytes alive."""
    lifetimes = buffer_lifetimes(uses)
    owners = buffer_owners(uses, uses.sizes, lifetimes) if any(step.in_place for step in uses.steps) else {}
    moments: dict[int, dict[int, int]] = {}
    for buffer, (first, last) in lifetimes.items():
        for moment in range(first, last + 1):
            held_by = moments.setdefault(moment, {})
            owner = owners.get(buffer, buffer)
            held = held_by.get(owner)
            if held is None or uses.sizes[buffer] > uses.sizes[held]:
                held_by[owner] = buffer
    sums = {moment: sum(uses.sizes[buffer] for buffer in held_by.values()) for moment, held_by in moments.items()}
    step = max(sorted(sums), key=lambda moment: sums[moment], default=-1)
    alive = sorted(moments.get(step, {}).values(), key=lambda buffer: -uses.sizes[buffer])
    return Peak(step, tuple(alive), sums.get(step, 0))
