"""The smallest calls that show what a row says: one that meets a hazard, one on each side of a condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from firmware_check.evidence.both_apis import calls_of, entries_of, is_called
from onnxlint_cmsis.cmsis_nn.apis import LEGACY, api_of
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.route import Route, route
from onnxlint_cmsis.cmsis_nn.rows import Branch
from onnxlint_cmsis.cmsis_nn.tables import all_hazards, wrapper_for
from onnxlint_cmsis.ground.types import KernelCall, Target

TRIES = 3
"""Calls that are run of one hazard: its effect may hide behind the numbers of one."""


Routed = list[tuple["KernelCall", Route]]


class Side(NamedTuple):
    """A call on one side of a branch's condition."""

    branch: str
    """The branch, by wrapper and kernel."""
    asks: str
    """The condition of which the call is on one side."""
    holds: bool
    """Whether the branch is taken."""
    call: KernelCall
    """The smallest call there is."""


def hazards_on(target: Target) -> tuple[Hazard, ...]:
    """The rows of a release and instruction set."""
    rows = (row for row in all_hazards() if row.on(target))
    return tuple(row for row in rows if is_called(row, target.release))


def routed(target: Target) -> dict[str, Routed]:
    """The calls that are drawn, by entry point, with their routes."""
    return {entry: [(call, route(call, target)) for call in calls_of(entry)] for entry in entries_of(target.release)}


def witnesses(hazard: Hazard, calls: dict[str, Routed]) -> list[KernelCall]:
    """Calls that meet a hazard: first those that meet no other, the smallest first; its own entry point first."""
    alone, among = [], []
    for entry in hazard.entries:
        for call, taken in calls.get(entry, ()):
            ids = [hazard.id for hazard in taken.hazards]
            if ids == [hazard.id]:
                alone.append(call)
            elif hazard.id in ids:
                among.append(call)
    return [*alone, *among][:TRIES]


def sides(target: Target, calls: dict[str, Routed]) -> Iterator[Side]:
    """For each branch of the target's wrappers a call that takes it, and one that each part of its condition bars."""
    for entry, entry_calls in calls.items():
        wrapper = wrapper_for(entry)
        branches = wrapper.branches_for(target) if wrapper else ()
        if len(branches) < 2 and not (branches and api_of(entry) is LEGACY):
            continue
        for number, branch in enumerate(branches):
            yield from _of_branch(f"{entry}, branch {number + 1} to {branch.kernel}", branches, number, entry_calls)


def _of_branch(name: str, branches: tuple[Branch, ...], number: int, calls: Routed) -> Iterator[Side]:
    before, branch = branches[:number], branches[number]
    reached = [
        (call, taken)
        for call, taken in calls
        if taken.kernel and not any(earlier.when.evaluate(call.variables()) for earlier in before)
    ]
    inside = _best([(call, taken) for call, taken in reached if branch.when.evaluate(call.variables())])
    if inside is not None:
        yield Side(name, branch.when.explain(), True, inside)
    for part in branch.when.parts if branch.when.op == "all" else (branch.when,):
        outside = _best([(c, taken) for c, taken in reached if branch.when.failures(c.variables()) == (part,)])
        if outside is not None:
            yield Side(name, part.explain(), False, outside)


def _best(calls: Routed) -> KernelCall | None:
    """The smallest call, of those without hazards where there are any."""
    quiet = [call for call, taken in calls if not taken.hazards]
    return next(iter([*quiet, *(call for call, _ in calls)]), None)
