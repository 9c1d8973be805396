"""The most classes that are proven together, with few proofs: a failed one leaves out the classes to blame."""

from __future__ import annotations

from onnxlint_cmsis.fixers.attempt import Attempt, attempt, prover_of
from onnxlint_cmsis.fixers.culprits import LATE, Culprits
from onnxlint_cmsis.fixers.snapshot import Snapshot
from onnxlint_cmsis.fixers.steps import Reasons

MAX_PROOFS = 4
"""Proofs of one model."""


def best(start: Snapshot) -> tuple[Attempt, Reasons]:
    """The largest proven attempt, and why other classes are left out of it.

    Where nothing can be proven it is one with all classes that nothing else keeps, with its trouble. Raises
    NotAppliedError.
    """
    search = _Search(start)
    return search.best(), search.refused


class _Search:
    """The search for classes that can be proven together."""

    def __init__(self, start: Snapshot) -> None:
        self.refused: Reasons = {}
        """Classes left out, with the reason."""
        self._start, self._prover, self._proofs = start, prover_of(start), 0

    def best(self) -> Attempt:
        """The largest proven attempt; where none is proven the one without classes known to be unprovable."""
        fix = self._tried()
        while fix.blamed.keys() - self.refused.keys() and self._proofs < MAX_PROOFS:
            self.refused |= fix.blamed
            fix = self._tried()
        if not self._start.request.compared:
            return fix
        whole, known = fix, dict(self.refused)
        while fix.trouble and (fix.proof is None or fix.proof.ran) and self._proofs < MAX_PROOFS:
            self.refused |= fix.blamed or self._suspects(fix)
            fix = self._tried()
        if fix.trouble or (whole.trouble and fix.end is fix.start):
            self.refused = known
            return whole
        return fix

    def _tried(self) -> Attempt:
        """The attempt without the classes left out."""
        fix = attempt(self._start.without(self.refused), self._prover)
        self._proofs += fix.proof is not None
        return fix

    def _suspects(self, failed: Attempt) -> Reasons:
        """Classes or repairs to leave out next."""
        if failed.rewrites:
            return {layer.step: failed.trouble for layer in failed.rewrites}
        culprits = Culprits(failed, self._prover)
        blamed = culprits.reasons()
        if blamed:
            return blamed
        names = list(culprits.changed)
        later = names[len(names) // 2 :]
        return dict.fromkeys(later, LATE if len(later) > 1 else failed.trouble)
