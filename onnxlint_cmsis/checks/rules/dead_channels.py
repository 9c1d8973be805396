"""Channels are constant or unread.

A channel is constant when it holds the same value at every position for every input: all its weights are zero after
quantization, or all it reads is constant. It is unread when every weight that reads it is zero. Such channels cost as
much as any other, and taking them out is exact: what a constant adds to the sums goes into the int32 bias of the
layers that read it. Sometimes it is cheaper to keep a few of them, because the kernels work in blocks; the finding
names the count that `--fix` would choose.

A channel has to stay where the count is LOCKED, which is a note with the reason. It also has to stay where it is read
together with zero padding, which makes its border differ.

This rule reads weights, as sum-overflow does. It does not run on files larger than `size-checks-limit`, on models of
more layers than `size-checks-layers`, or with `weights = false`.

**What to do.** `onnxlint-cmsis --diff` shows the whole plan, `--fix` applies it and proves that the outputs stay the
same. Dead channels in a trained model often mean that it could have been trained narrower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.facts import REMOVE, ClassFact, about_class, about_size, dead_text
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
