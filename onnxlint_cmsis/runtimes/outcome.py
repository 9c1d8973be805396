"""What becomes of an operator in a runtime."""

from __future__ import annotations

from enum import Enum

from onnxlint_cmsis.ground.findings import Effect


class RuntimeVerdict(str, Enum):
    """What becomes of one operator."""

    CMSIS_NN = "CMSIS-NN"
    """CMSIS-NN functions compute it."""
    REFERENCE = "reference code"
    """Portable code of the runtime's own computes it."""
    REFUSED = "refused"
    """The runtime returns an error, at start or when it runs."""
    NO_KERNEL = "no kernel"
    """The runtime has no kernel, and the application can register one."""
    HALTS = "halts"
    """The firmware stops: a check does not hold."""
    WRONG = "wrong"
    """No error is seen, and the output is not what the model says."""
    UNDECIDED = "undecided"
    """What decides it is not known."""

    def effect(self, *, sure: bool = True) -> Effect:
        """What it does to whoever runs the model; `sure` is False where the operator may meet it."""
        effect = _EFFECTS[self]
        return effect if sure or not effect.decides or effect is Effect.UNKNOWN else Effect.MAY_FAIL


_EFFECTS = {
    RuntimeVerdict.CMSIS_NN: Effect.NOTE,
    RuntimeVerdict.REFERENCE: Effect.REFERENCE,
    RuntimeVerdict.REFUSED: Effect.STOPS,
    RuntimeVerdict.NO_KERNEL: Effect.NO_KERNEL,
    RuntimeVerdict.HALTS: Effect.STOPS,
    RuntimeVerdict.WRONG: Effect.WRONG,
    RuntimeVerdict.UNDECIDED: Effect.UNKNOWN,
}

USUAL_CAUSES = {
    RuntimeVerdict.REFUSED: "check",
    RuntimeVerdict.NO_KERNEL: "operator",
    RuntimeVerdict.HALTS: "check",
    RuntimeVerdict.WRONG: "kernel",
    RuntimeVerdict.REFERENCE: "no-function",
}
"""Verdicts that a rule reports, and the cause where no row names another."""

NOT_REVIEWED = "not-reviewed"
"""Cause of what a runtime does with a layer that nobody read."""
