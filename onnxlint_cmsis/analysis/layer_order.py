"""Another order of the same layers, in which fewer bytes are alive at a time."""

from __future__ import annotations

from collections import Counter

from onnxlint_cmsis.analysis.arena_plan import ArenaStep, ArenaUses


def small_order(uses: ArenaUses) -> tuple[ArenaStep, ...]:
    """The steps, ordered greedily: of the steps that can run, next comes the one that leaves the fewest bytes alive.

    A step can run once all that it reads is written. Ties keep the order of the file.
    """
    written = set(uses.inputs)
    waiting = Counter(buffer for step in uses.steps for buffer in set(step.inputs))
    kept = set(uses.outputs)
    computed = {buffer for step in uses.steps for buffer in step.outputs}
    left, order = list(uses.steps), []

    def growth(step: ArenaStep) -> int:
        """Bytes by which what is alive grows over a step."""
        new = sum(uses.sizes[buffer] for buffer in step.outputs if waiting[buffer] or buffer in kept)
        ended = sum(uses.sizes[buffer] for buffer in set(step.inputs) if waiting[buffer] == 1 and buffer not in kept)
        return new - ended

    while left:
        ready = [step for step in left if all(buffer in written or buffer not in computed for buffer in step.inputs)]
        if not ready:
            return uses.steps
        best = min(ready, key=growth)
        left.remove(best)
        order.append(best)
        written |= set(best.outputs)
        waiting.subtract(set(best.inputs))
    return tuple(order)
