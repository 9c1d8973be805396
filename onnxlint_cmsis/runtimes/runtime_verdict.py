"""What becomes of an operator in a runtime."""

from __future__ import annotations

from enum import Enum


class RuntimeVerdict(str, Enum):
    """What becomes of one operator."""

    CMSIS_NN = "CMSIS-NN"
    """CMSIS-NN functions compute it."""
    REFERENCE = "reference code"
    """Portable code of the runtime's own computes it."""
    REFUSED = "refused"
    """The runtime returns an error, at start or when it runs."""
    HALTS = "halts"
    """The firmware stops: a check does not hold."""
    WRONG = "wrong"
    """No error is seen, and the output is not what the model says."""
    UNDECIDED = "undecided"
    """What decides it is not known."""
