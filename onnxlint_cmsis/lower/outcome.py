"""The outcome of a node or an operator: who computes it, or why nothing right does."""

from __future__ import annotations

from enum import Enum

from onnxlint_cmsis.ground.findings import Effect


class Outcome(str, Enum):
    """Who computes a node, or what stops it; the last three are a runtime's alone."""

    CMSIS_NN = "CMSIS-NN"
    """A function of CMSIS-NN, or several."""
    REFERENCE = "reference code"
    """Other code of the application or of its runtime; `in_reference_code` knows the application's."""
    NO_KERNEL = "no kernel"
    """Neither CMSIS-NN nor known reference code: the application has to bring a kernel. Or the runtime refuses it."""
    UNDECIDED = "undecided"
    """What decides it is not known, such as a size."""
    REFUSED = "refused"
    """The runtime returns an error, at start or when it runs."""
    HALTS = "halts"
    """The firmware stops: a check does not hold."""
    WRONG = "wrong"
    """No error is seen, and the output is not what the model says."""

    def effect(self, *, sure: bool = True) -> Effect:
        """What it does to whoever runs the model; `sure` is False where the operator may meet it."""
        effect = _EFFECTS[self]
        return effect if sure or not effect.decides or effect is Effect.UNKNOWN else Effect.MAY_FAIL


_EFFECTS = {
    Outcome.CMSIS_NN: Effect.NOTE,
    Outcome.REFERENCE: Effect.REFERENCE,
    Outcome.NO_KERNEL: Effect.NO_KERNEL,
    Outcome.UNDECIDED: Effect.UNKNOWN,
    Outcome.REFUSED: Effect.STOPS,
    Outcome.HALTS: Effect.STOPS,
    Outcome.WRONG: Effect.WRONG,
}
