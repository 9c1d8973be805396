"""Search for the most provable classes with few proofs: a failed proof leaves out the classes to blame.

A failed proof tells on which input the two models part. A look at that input alone finds the first tensor that differs,
and the classes resized between it and the tensors before it that agree are left out, until no more differences are
seen. Then all that is left is proven.
"""

from __future__ import annotations

from onnxlint_cmsis.fixers.attempt import Attempt, attempt, prover_of
from onnxlint_cmsis.fixers.culprits import LATE, Culprits
from onnxlint_cmsis.fixers.snapshot import Reasons, Snapshot

MAX_PROOFS = 4
"""Proofs of one model."""


def best(start: Snapshot) -> tuple[Attempt, Reasons]:
    """The largest proven attempt, and why other classes are left out of it.

    Where nothing can be proven it is one with all classes that nothing else keeps, with its trouble. Raises
    NotAppliedError.
    """
    search = _Search(start)
    return search.found(), search.refused


class _Search:
    """The search for classes that can be proven together."""

    def __init__(self, start: Snapshot) -> None:
        self.refused: Reasons = {}
        """Classes left out, with the reason."""
        self._start, self._prover, self._proofs = start, prover_of(start), 0

    def found(self) -> Attempt:
        """The best attempt."""
        whole = found = self._without_blamed()
        known = dict(self.refused)
        while self._worth_another(found):
            self.refused |= found.blamed or self._suspects(found)
            found = self._tried()
        if found.trouble or (whole.trouble and found.end is found.start):
            self.refused = known
            return whole
        return found

    def _without_blamed(self) -> Attempt:
        """The attempt without the classes known to be unchangeable or unprovable."""
        found = self._tried()
        while found.blamed.keys() - self.refused.keys() and self._proofs < MAX_PROOFS:
            self.refused |= found.blamed
            found = self._tried()
        return found

    def _tried(self) -> Attempt:
        """The attempt without the classes left out."""
        made = attempt(self._start.without(self.refused), self._prover)
        self._proofs += made.proof is not None
        return made

    def _worth_another(self, found: Attempt) -> bool:
        runs = found.proof is None or found.proof.ran
        return bool(found.trouble) and runs and self._proofs < MAX_PROOFS

    def _suspects(self, failed: Attempt) -> Reasons:
        """Classes or repairs to leave out next."""
        if failed.rewrites:
            return {one.name: failed.trouble for one in failed.rewrites}
        culprits = Culprits(failed, self._prover)
        found = culprits.found()
        if found:
            return found
        names = list(culprits.changed)
        later = names[len(names) // 2 :]
        return dict.fromkeys(later, LATE if len(later) > 1 else failed.trouble)
