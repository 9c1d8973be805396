"""The policies as data: the sizes a class may take, and the objective to minimise."""

from __future__ import annotations

from collections.abc import Callable

from onnxlint_cmsis.checks.rule_registry import codes_of_policy
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.planning.measures import Count, MeasureIndex
from onnxlint_cmsis.planning.problem import Level

REACH = 32
"""Consecutive sizes looked at: two periods of the longest block of any kernel, 16 lanes."""


class Policy(NamedTuple):
    """One way to choose sizes."""

    name: str
    """Value of --fix-policy."""
    sizes: Callable[[int, int, int], range]
    """Candidate sizes of a class, from its present size, its live lanes and --align."""
    objective: Callable[[MeasureIndex], tuple[Level, ...]]
    """Levels to minimise, in order."""
    traded: int
    """Level in which bytes are traded for it where the growth is bounded."""
    must_gain: bool
    """Whether instructions may rise on no target and have to fall by --min-gain."""
    named: bool
    """Whether sizes that routing conditions name are candidates too."""
    lowers: Callable[[Count], int]
    """Objective that a new size must improve; a size that improves nothing but hazards answers only them."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of the rules that it acts on; one that does not run on a file changes nothing there."""
        return codes_of_policy(self.name)


def _faster(index: MeasureIndex) -> tuple[Level, ...]:
    return (index.level(hazards=1), index.level(unpriced=1), index.level(instructions=1), index.level(bytes=1))


def _route(index: MeasureIndex) -> tuple[Level, ...]:
    return (index.level(hazards=1), index.level(misses=1), index.level(bytes=1))


def _align(index: MeasureIndex) -> tuple[Level, ...]:
    return (index.level(hazards=1), index.level(unaligned=1), index.level(bytes=1))


def _upward_from_live(_have: int, live: int, _align: int) -> range:
    return range(live, live + REACH)


def _upward(have: int, _live: int, _align: int) -> range:
    return range(have, have + REACH)


def _to_the_multiple(have: int, _live: int, align: int) -> range:
    return range(have, -(-have // align) * align + 1)


def _instructions(count: Count) -> int:
    return sum(count.instructions)


def _misses(count: Count) -> int:
    return count.misses


def _unaligned(count: Count) -> int:
    return count.unaligned


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("faster", _upward_from_live, _faster, 2, must_gain=True, named=True, lowers=_instructions),
        Policy("route", _upward, _route, 1, must_gain=False, named=True, lowers=_misses),
        Policy("align", _to_the_multiple, _align, 1, must_gain=False, named=False, lowers=_unaligned),
    )
}
"""By name."""
