"""The most that a fix may do in the RAM and flash that were named: classes of channels that do not fit stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.fit import device_fits
from onnxlint_cmsis.analysis.fix_results import FixResult
from onnxlint_cmsis.fixers.differences import resized_classes
from onnxlint_cmsis.fixers.report import Fixed
from onnxlint_cmsis.fixers.snapshot import Snapshot, resized_step
from onnxlint_cmsis.fixers.steps import Reasons, Step
from onnxlint_cmsis.ground.named_tuples import NamedTuple

MOST_TRIALS = 8
"""Fixes of one model that are worked out to see which classes may grow."""

Fix = Callable[[Snapshot], Fixed]


def within_room(start: Snapshot, fix: Fix) -> Fixed:
    """Fix a model with the classes that there is room for; it stays as it is where even without these there is none.

    Memory that has room keeps it. Memory that has none takes no more, unless that steps around a known hazard, or
    flash holds the plan of an arena that takes less.
    """
    fixed = fix(start)
    grown = _outgrown(start.analysis, fixed)
    if not grown:
        return fixed
    search = _Search(
        start.rehearsing(), fix, sorted(_growing(start, fixed), key=lambda row: (not row.mends, -row.gain))
    )
    left = search.left(f"with the channels that a fix would add the model would need {grown}")
    fixed = fix(start.without(left)) if start.request.compared else search.best
    needed = fixed.result.repairs or fixed.result.memory
    if too_much := _outgrown(start.analysis, fixed, fitted=bool(needed)):
        reason = f"fixed it would need {too_much}"
        return Fixed(FixResult(fixed.result.policy, False, False, reason, failed=False), None, outgrown=too_much)
    return fixed._replace(outgrown=grown, unroomed=left) if left else fixed


def _outgrown(old: ModelAnalysis, fixed: Fixed, *, fitted: bool = False) -> str:
    """How much a fixed model needs that grew over what is there, as a clause; empty where it did not.

    `fitted` asks about what had room before alone.
    """
    if fixed.end is None:
        return ""
    for had, has in zip(device_fits(old), device_fits(fixed.end.analysis), strict=True):
        pairs = (("RAM", had.ram, has.ram, has.flash.room.ram), ("flash", had.flash, has.flash, has.flash.room.flash))
        for memory, before, after, room in pairs:
            if before is None or after is None or after.fits or (fitted and not before.fits):
                continue
            if after.bytes > before.bytes:
                return f"{after.bytes:,} bytes of {memory} on {after.target}, where {room or 0:,} are there"
    return ""


class _Growing(NamedTuple):
    """A class of channels that a fix would add to."""

    step: Step
    """The step of the fix."""
    mends: bool
    """Whether that steps around hazards."""
    gain: int
    """Predicted instructions that it saves on all targets, all other classes changed."""


def _growing(start: Snapshot, fixed: Fixed) -> Iterator[_Growing]:
    decision = start.plan.decision
    for group, want in resized_classes(start, fixed.end) if fixed.end else ():
        if want > group.size:
            without, after = (
                decision.without(group.id) if group.id in decision.sizes else decision.after,
                decision.after,
            )
            mends = sum(after.hazards) < sum(without.hazards)
            yield _Growing(resized_step(start, group), mends, sum(without.instructions) - sum(after.instructions))


class _Search:
    """The search for classes that may grow, the best first; some at a time, since each trial works out a fix."""

    def __init__(self, start: Snapshot, fix: Fix, growing: list[_Growing]) -> None:
        self._start, self._fix, self._growing = start, fix, growing
        self._kept: frozenset[Step] = frozenset()
        self._trials = 0
        self.best = self._without_others(self._kept)
        """The model with the classes that there is room for."""
        for mends in (True, False):
            self._grow([row.step for row in growing if row.mends is mends], fitted=mends)

    def left(self, reason: str) -> Reasons:
        """The classes that there is no room for, each with the reason."""
        return {row.step: reason for row in self._growing if row.step not in self._kept}

    def _without_others(self, kept: frozenset[Step]) -> Fixed:
        self._trials += 1
        return self._fix(self._start.without({row.step: "" for row in self._growing if row.step not in kept}))

    def _grow(self, steps: list[Step], *, fitted: bool) -> None:
        """Let classes grow as far as there is room; `fitted` asks about what has room without them alone."""
        if not steps or self._trials >= MOST_TRIALS or self.best.end is None:
            return
        kept = self._kept.union(steps)
        trial, half = self._without_others(kept), len(steps) // 2
        if not _outgrown(self.best.end.analysis, trial, fitted=fitted):
            self.best, self._kept = trial, kept
        elif half:
            self._grow(steps[:half], fitted=fitted)
            self._grow(steps[half:], fitted=fitted)
