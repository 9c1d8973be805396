"""Channels are constant or unread.

A channel is constant when it holds one value at every position for every input, under the kernels' rounding too. It
is unread when every weight that reads it is zero. Taking it out is exact: a constant goes into the int32 bias of the
layers that read it.

A channel stays where the count is LOCKED (a note with the reason), and where it is read together with zero padding.
The rule reads weights: not above `size-checks-limit` or `size-checks-layers`, and not with `weights = false`.

**What to do.** `--diff` shows the plan, `--fix` applies and proves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.class_facts import ClassFact, about_class, about_size, dead_text
from onnxlint_cmsis.checks.fix_actions import REMOVE
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Freedom, Level

RULE = Rule(
    code="CNN202",
    name="dead-channels",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="Channels are constant or unread.",
    docs=__doc__,
    bad=Example("""
g (float[1, 1, 4, 4] x) => (float[N, C, H, W] y) <float[2, 1, 1, 1] u = {1, 0}, float[1, 2, 1, 1] v = {1}> {
    a = Conv(x, u)
    y = Conv(a, v)
}
"""),
    good=Example("""
g (float[1, 1, 4, 4] x) => (float[N, C, H, W] y) <float[2, 1, 1, 1] u = {1, 1}, float[1, 2, 1, 1] v = {1}> {
    a = Conv(x, u)
    y = Conv(a, v)
}
"""),
    action=REMOVE,
)


def run(fact: ClassFact) -> Iterator[Statement]:
    """Yield one statement for a class that gets fewer channels, or would if it were not LOCKED."""
    if fact.shrinks:
        said = about_size(fact, f"{dead_text(fact)}; {fact.group.size} -> {fact.want} channels")
        yield replace(said, group="removable")
    elif not fact.grows:
        locked = about_class(fact, f"{dead_text(fact)}. LOCKED by {fact.group.locks[0]}.")
        freedom = Freedom.LOCKED.value
        yield replace(locked, level=Level.NOTE, properties={"freedom": freedom}, group=freedom)
