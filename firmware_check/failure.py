"""A target that a check could not run on."""

from __future__ import annotations

from typing import NamedTuple


class Failure(NamedTuple):
    """A target that the check could not run on."""

    cpu: str
    """CPU of the board."""
    compiler: str
    """Compiler that it was to run with."""
    reason: str
    """What could not be done."""

    def __str__(self) -> str:
        return f"{self.cpu}, {self.compiler}: {self.reason}"
