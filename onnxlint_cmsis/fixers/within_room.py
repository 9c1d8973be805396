"""The most that a fix may do in the RAM and flash that were named: classes of channels that do not fit stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.fit import device_fits
from onnxlint_cmsis.analysis.fix_results import FixResult, SkippedClass
from onnxlint_cmsis.fixers.differences import resized_classes
from onnxlint_cmsis.fixers.report import Fixed
from onnxlint_cmsis.fixers.snapshot import Snapshot, resized_step
from onnxlint_cmsis.fixers.steps import Reasons, Step
from onnxlint_cmsis.ground.named_tuples import NamedTuple

MOST_TRIALS = 8
"""Fixes of one model that are worked out to see which classes may grow."""
MOST_LAYERS = 1000
"""Layers that all of these have together, so that long models get fewer; two fixes are worked out anyway."""

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
    left: Reasons = {}
    if growing := sorted(_growing(start, fixed), key=lambda row: (not row.mends, -row.gain)):
        search = _Search(start.rehearsing(), fix, growing, None if start.request.compared else fixed)
        left = search.left(f"with the channels that a fix would add the model would need {grown}")
        if left:
            fixed = fix(start.without(left)) if start.request.compared else search.best
            fixed = fixed._replace(result=_with_left(fixed.result, [row for row in growing if row.step in left], left))
    needed = fixed.result.repairs or fixed.result.memory
    if too_much := _outgrown(start.analysis, fixed, fitted=bool(needed)):
        reason = f"fixed it would need {too_much}"
        return Fixed(FixResult(fixed.result.policy, False, False, reason, failed=False), None, outgrown=too_much)
    return fixed._replace(outgrown=grown, unroomed=left) if left else fixed


def _outgrown(old: ModelAnalysis, fixed: Fixed, *, fitted: bool = False) -> str | None:
    """How much a fixed model needs that grew over what is there, as a clause; None where it did not.

    `fitted` asks about what had room before alone.
    """
    if fixed.end is None:
        return None
    for had, has in zip(device_fits(old), device_fits(fixed.end.analysis), strict=True):
        pairs = (("RAM", had.ram, has.ram, has.flash.room.ram), ("flash", had.flash, has.flash, has.flash.room.flash))
        for memory, before, after, room in pairs:
            if before is None or after is None or after.fits or (fitted and not before.fits):
                continue
            if after.bytes > before.bytes:
                return f"{after.bytes:,} bytes of {memory} on {after.target}, where {room or 0:,} are there"
    return None


class _Growing(NamedTuple):
    """A class of channels that a fix would add to."""

    step: Step
    """The step of the fix."""
    told: SkippedClass
    """What is told of it where it is not done."""
    mends: bool
    """Whether that steps around hazards."""
    gain: int
    """Predicted instructions that it saves on all targets, all other classes changed."""


def _growing(start: Snapshot, fixed: Fixed) -> Iterator[_Growing]:
    decision = start.plan.decision
    for group, want in resized_classes(start, fixed.end) if fixed.end else ():
        if want > group.size:
            after = decision.after
            without = decision.without(group.id) if group.id in decision.sizes else after
            mends = sum(after.hazards) < sum(without.hazards)
            layers = dict.fromkeys(layer.label for layer in (*group.deciders, *group.readers))
            told = SkippedClass(group.size, want, tuple(layers), "")
            gain = sum(without.instructions) - sum(after.instructions)
            yield _Growing(resized_step(start, group), told, mends, gain)


def _with_left(result: FixResult, growing: Sequence[_Growing], left: Reasons) -> FixResult:
    """A result that names all classes that there is no room for, and the reason where nothing changed."""
    rows = [row.told._replace(reason=left[row.step]) for row in growing]
    others = [row for row in result.left if row.reason != rows[0].reason]
    reason = result.reason
    if reason and rows[0].reason not in reason:
        reason = f"{reason}; {rows[0].reason}"
    return result._replace(left=(*rows, *others), reason=reason)


class _Search:
    """The search for classes that may grow, the best first; some at a time, since each trial works out a fix."""

    def __init__(self, start: Snapshot, fix: Fix, growing: list[_Growing], whole: Fixed | None) -> None:
        """`whole` is the model with all classes, where that is known."""
        self._start, self._fix, self._growing, self._whole = start, fix, growing, whole
        self._kept: frozenset[Step] = frozenset()
        self._refused: set[tuple[frozenset[Step], bool]] = set()
        self._trials = max(2, min(MOST_TRIALS, MOST_LAYERS // max(1, len(start.lowered.layers))))
        self.best = self._without_others(self._kept)
        """The model with the classes that there is room for."""
        before: frozenset[Step] | None = None
        while self._kept != before:  # what was refused may fit beside classes that were kept later
            before = self._kept
            for mends in (True, False):
                rest = [row.step for row in growing if row.mends is mends and row.step not in before]
                self._grow(rest, fitted=mends)

    def left(self, reason: str) -> Reasons:
        """The classes that there is no room for, each with the reason."""
        return {row.step: reason for row in self._growing if row.step not in self._kept}

    def _without_others(self, kept: frozenset[Step]) -> Fixed:
        without = {row.step: "" for row in self._growing if row.step not in kept}
        if without:
            self._trials -= 1
        elif self._whole:
            return self._whole
        return self._fix(self._start.without(without))

    def _grow(self, steps: list[Step], *, fitted: bool) -> None:
        """Let classes grow as far as there is room; `fitted` asks about what has room without them alone."""
        if not steps or self._trials <= 0 or self.best.end is None:
            return
        kept, half = self._kept.union(steps), len(steps) // 2
        trial = None if (kept, fitted) in self._refused else self._without_others(kept)
        if trial and not _outgrown(self.best.end.analysis, trial, fitted=fitted):
            self.best, self._kept = trial, kept
            return
        self._refused.add((kept, fitted))
        if half:
            self._grow(steps[:half], fitted=fitted)
            self._grow(steps[half:], fitted=fitted)
