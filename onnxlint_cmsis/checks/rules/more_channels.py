"""The same kernel runs fewer instructions with more channels.

Kernels work in blocks of 2, 4, 8 or 16 channels and compute the rest one by one, so a few more channels of zeros can
cost less. The finding names the counts that `--fix` would choose: the predicted instructions (not cycles) of the
whole model fall by at least `min-gain` and rise on no target.

The rule is silent along layers of unknown cost, about channels inside a Loop or Scan, where no fix can be proven, and
above `size-checks-limit` or `size-checks-layers`.

**What to do.** `--diff` shows the plan, `--fix` applies and proves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.class_facts import ClassFact, about_size
from onnxlint_cmsis.checks.fix_actions import GROW
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level

RULE = Rule(
    code="CNN201",
    name="more-channels",
    level=Level.WARNING,
    effect=Effect.COSTS,
    summary="The same kernel runs fewer instructions with more channels.",
    docs=__doc__,
    bad=Example("""
g (float[1, 6, 8, 8] x) => (float[N, C, H, W] y) <float[18, 1, 3, 3] u = {1}, float[4, 18, 1, 1] v = {1}> {
    a = Conv<group = 6>(x, u)
    y = Conv(a, v)
}
"""),
    good=Example("""
g (float[1, 6, 8, 8] x) => (float[N, C, H, W] y) <float[24, 1, 3, 3] u = {1}, float[4, 24, 1, 1] v = {1}> {
    a = Conv<group = 6>(x, u)
    y = Conv(a, v)
}
"""),
    action=GROW,
)


def run(fact: ClassFact) -> Iterator[Statement]:
    """Yield one statement for a class that gets more channels."""
    if fact.grows:
        said = about_size(fact, f"{fact.group.size} -> {fact.want} channels")
        yield replace(said, group="more")
