"""The same kernel runs fewer instructions with more channels.

Kernels work in blocks of 2, 4, 8 or 16 channels and compute the rest one by one. So a few more channels, all zero,
can cost less. The good counts depend on kernel, instruction set and release, and several layers may share one channel
count. The finding names the count that `--fix` would choose, together with all the others that it would change: the
predicted instructions of the whole model fall by at least `min-gain` and rise on no target. Where more channels step
around an error or a wrong result, the finding on that (CNN3xx) names them with their price, and this rule is silent.

The numbers are predicted instructions, not cycles: loops counted from the sizes, times instructions measured once for
each loop on an emulated Cortex-M with gcc. Where a layer along the channels has no such prediction, more channels are
never proposed, unless they step around an error or a wrong result.

The rule is silent about channels inside a Loop or Scan, since no fix can be proven there.

A search of sizes takes time. So this rule does not run on files larger than `size-checks-limit` or on models of more
layers than `size-checks-layers`.

**What to do.** `onnxlint-cmsis --diff` shows the whole plan, `--fix` applies it with zeros and proves that the outputs
stay the same. Or choose the count when the model is trained next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxlint_cmsis.checks.facts import GROW, ClassFact, about_size
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
