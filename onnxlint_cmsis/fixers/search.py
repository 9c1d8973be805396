"""The most classes that can be fixed and proven: where the proof of all fails, those it fails by are left out.

What a failed proof says decides where it says enough: a branch that no input leads into, a class that cannot be resized
alone. Where it does not, halves of the classes are tried on their own, at most MAX_TRIES proofs in all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxlint_cmsis.fixers import model_changes
from onnxlint_cmsis.fixers.attempt import Attempt, attempt
from onnxlint_cmsis.fixers.snapshot import ClassName, Reasons, Snapshot, name_of

MAX_TRIES = 32
"""Fixes of one model that are worked out and proven before the classes not yet tried are left out."""
LATE = f"it was not tried: a proof with more classes failed, and at most {MAX_TRIES} are made"


def best(start: Snapshot) -> tuple[Attempt, Reasons]:
    """The attempt that changes most of what can be proven, and why other classes are left out of it.

    Where nothing can be proven it is one with all classes that nothing else keeps, with its trouble. Raises
    UnreadableError.
    """
    search = _Search(start)
    found = search.without_blamed()
    if found.trouble and (found.proof is None or found.proof.ran):
        found = search.by_halves(found)
    return found, search.refused


class _Search:
    """The search for classes that can be proven together."""

    def __init__(self, start: Snapshot) -> None:
        self.refused: Reasons = {}
        """Classes left out for good, with the reason."""
        self._start, self._tries = start, 0

    def without_blamed(self) -> Attempt:
        """The attempt with all classes but those by which, as is known, a proof fails."""
        found = self._tried({})
        while found.blamed.keys() - self.refused.keys() and self._tries < MAX_TRIES:
            self.refused |= found.blamed
            found = self._tried({})
        return found

    def by_halves(self, whole: Attempt) -> Attempt:
        """The last attempt with some of its classes that was proven; itself where none was."""
        pool = list(_changed(whole))
        found, good, bad, pending = whole, set[ClassName](), Reasons(), _halves(pool)
        while pending and self._tries < MAX_TRIES:
            group = pending.pop(0)
            tried = self._tried({name: "" for name in pool if name not in good and name not in group})
            if not tried.trouble:
                good.update(group)
                found = found if tried.end is tried.start else tried
            elif len(group) == 1:
                bad[group[0]] = tried.trouble
            else:
                pending = [*_halves(group), *pending]
        if found is not whole:
            self.refused |= bad | dict.fromkeys((name for group in pending for name in group), LATE)
        return found

    def _tried(self, others: Reasons) -> Attempt:
        """The attempt without the classes left out for good, and without others."""
        self._tries += 1
        return attempt(self._start.without({**self.refused, **others}))


def _halves(names: Sequence[ClassName]) -> list[Sequence[ClassName]]:
    """Two parts of two or more classes; none of fewer, which have been tried."""
    middle = len(names) // 2
    return [names[:middle], names[middle:]] if middle else []


def _changed(found: Attempt) -> Iterator[ClassName]:
    """Classes that an attempt changes, or would have, and inputs that it pads."""
    decided = [found.start.dimensions.classes[leaf] for leaf in found.first.decision.sizes]
    resized = (group for group, _ in model_changes.resized(found.start, found.end))
    yield from dict.fromkeys(name_of(found.start, group) for group in (*decided, *resized))
    yield from found.added
