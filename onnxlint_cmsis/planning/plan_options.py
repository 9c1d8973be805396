"""The user's options of a fix."""

from __future__ import annotations

from onnxlint_cmsis.named_tuples import NamedTuple


class FixOptions(NamedTuple):
    """One way to fix."""

    policy: str = "faster"
    """Name of a row of `policies.POLICIES`."""
    align: int = 4
    """Multiple that the policy `align` pads to."""
    min_gain: float = 0.5
    """Percent of the predicted instructions that the policy `faster` has to gain on the whole model."""
    budget: int | None = None
    """Bytes that the constants may grow by at most; None for no bound."""
    unsafe: bool = False
    """Whether float biases may take up constants, which is not exact."""
    weights: bool = True
    """Whether weights may be read to find channels that do nothing."""
