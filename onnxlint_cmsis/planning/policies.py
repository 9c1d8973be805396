"""The policies as data: which sizes a class may take, and what is least."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxlint_cmsis.checks.hazard import HazardCheck
from onnxlint_cmsis.checks.registry import CHECKS
from onnxlint_cmsis.checks.routing import RoutingCheck
from onnxlint_cmsis.planning.measures import Layout
from onnxlint_cmsis.planning.problem import Level

REACH = 32
"""Consecutive sizes looked at: two periods of the longest block of any kernel, 16 lanes."""


class Policy(NamedTuple):
    """One way to choose sizes."""

    name: str
    """Value of --fix-policy."""
    sizes: Callable[[int, int, int], range]
    """Candidate sizes of a class, from its present size, its live lanes and --align."""
    objective: Callable[[Layout], tuple[Level, ...]]
    """Levels to minimise, in order."""
    traded: int
    """Level in which bytes are traded for it where the growth is bounded."""
    must_gain: bool
    """Whether instructions may rise on no target and have to fall by --min-gain."""
    named: bool
    """Whether sizes that routing conditions name are candidates too."""
    rules: tuple[str, ...]
    """Codes of the rules that it acts on; one that does not run on a file changes nothing there."""


SIZES = ("CNN201", "CNN202")
"""Rules on the size of a class."""
ROUTING = tuple(check.code for check in CHECKS if isinstance(check, RoutingCheck))
"""Rules on missed kernels."""
HAZARDS = tuple(check.code for check in CHECKS if isinstance(check, HazardCheck))
"""Rules on errors and wrong results, which come first for every policy."""


def _faster(layout: Layout) -> tuple[Level, ...]:
    return (layout.level(hazards=1), layout.level(blind=1), layout.level(instructions=1), layout.level(bytes=1))


def _route(layout: Layout) -> tuple[Level, ...]:
    return (layout.level(hazards=1), layout.level(misses=1), layout.level(bytes=1))


def _align(layout: Layout) -> tuple[Level, ...]:
    return (layout.level(hazards=1), layout.level(unaligned=1), layout.level(bytes=1))


def _upward_from_live(_have: int, live: int, _align: int) -> range:
    return range(live, live + REACH)


def _upward(have: int, _live: int, _align: int) -> range:
    return range(have, have + REACH)


def _to_the_multiple(have: int, _live: int, align: int) -> range:
    return range(have, -(-have // align) * align + 1)


POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy("faster", _upward_from_live, _faster, traded=2, must_gain=True, named=True, rules=SIZES + HAZARDS),
        Policy("route", _upward, _route, traded=1, must_gain=False, named=True, rules=ROUTING + HAZARDS),
        Policy("align", _to_the_multiple, _align, traded=1, must_gain=False, named=False, rules=SIZES + HAZARDS),
    )
}
"""By name."""
