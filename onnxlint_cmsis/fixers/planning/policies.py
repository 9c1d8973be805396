"""What a user may ask of a fix: its options, and the policies as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnxlint_cmsis.checks.rule_registry import codes_of_policy
from onnxlint_cmsis.fixers.planning.measures import Count, Level, MeasureIndex
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import MemoryRoom


class FixOptions(NamedTuple):
    """One way to fix."""

    policy: str = "faster"
    """Name of a row of `POLICIES`."""
    align: int = 4
    """Multiple that the policy `align` pads to."""
    min_gain: float = 0.5
    """Percent of the predicted instructions that new sizes have to gain on the whole model."""
    most_instructions: float = 5.0
    """Percent of the predicted instructions of layers that the policy `smaller` may add on each target."""
    budget: int | None = None
    """Bytes that the constants may grow by at most; None for no bound."""
    unsafe: bool = False
    """Whether float biases may take up constants, which is not exact."""
    weights: bool = True
    """Whether weights may be read to find channels that do nothing."""


REACH = 32
"""Consecutive sizes looked at: two periods of the longest block of any kernel, 16 lanes."""


class Policy(NamedTuple):
    """One way to choose sizes."""

    name: str
    """Value of --fix-policy."""
    sizes: Callable[[int, int, int], range]
    """Candidate sizes of a class, from its present size, its live lanes and `align`."""
    objective: Callable[[MeasureIndex], tuple[Level, ...]]
    """Levels to minimise, in order."""
    traded: int
    """Level in which bytes are traded for it where the growth is bounded."""
    must_gain: bool
    """Whether instructions may rise on no target and have to fall by `min_gain`."""
    named: bool
    """Whether sizes that routing conditions name are candidates too."""
    lowers: Callable[[Count], int]
    """Objective that a new size must improve; a size that improves nothing but hazards answers only them."""

    least_arena: bool = False
    """Whether the least arena within `most_instructions` is taken besides, where a runtime lays one out."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of the rules that it acts on; one that does not run on a file changes nothing there."""
        return codes_of_policy(self.name)


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy(
            "faster",
            sizes=lambda _have, live, _align: range(live, live + REACH),
            objective=lambda index: (
                index.level(hazards=1),
                index.level(unpriced=1),
                index.level(instructions=1),
                index.level(bytes=1),
            ),
            traded=2,
            must_gain=True,
            named=True,
            lowers=lambda count: sum(count.instructions),
        ),
        Policy(
            "route",
            sizes=lambda have, _live, _align: range(have, have + REACH),
            objective=lambda index: (index.level(hazards=1), index.level(misses=1), index.level(bytes=1)),
            traded=1,
            must_gain=False,
            named=True,
            lowers=lambda count: count.misses,
        ),
        Policy(
            "align",
            sizes=lambda have, _live, align: range(have, -(-have // align) * align + 1),
            objective=lambda index: (index.level(hazards=1), index.level(unaligned=1), index.level(bytes=1)),
            traded=1,
            must_gain=False,
            named=False,
            lowers=lambda count: count.unaligned,
        ),
        Policy(
            "smaller",
            sizes=lambda have, live, _align: range(live, have + 1),
            objective=lambda index: (
                index.level(hazards=1),
                index.level(unpriced=1),
                index.level(instructions=1),
                index.level(bytes=1),
            ),
            traded=2,
            must_gain=True,
            named=False,
            lowers=lambda count: sum(count.instructions),
            least_arena=True,
        ),
    )
}
"""Policies by name."""


def plans_memory(policy: str, rooms: Sequence[MemoryRoom]) -> bool:
    """Tell whether a fix lays out the arena anew: the policy does, or RAM is named."""
    return POLICIES[policy].least_arena or any(room.ram for room in rooms)
