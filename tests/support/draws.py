"""How many examples a property test draws."""

from __future__ import annotations

from hypothesis import settings

AT_A_PUSH = 25
"""Examples of each property test in the profile `push`, which .ci/run chooses."""


def draws(most: int, pushed: int = AT_A_PUSH) -> int:
    """Return `most`, or in the profile `push` what a push draws at most."""
    return min(most, pushed) if settings.default.max_examples <= AT_A_PUSH else most
