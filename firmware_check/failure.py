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

    @property
    def where(self) -> str:
        """CPU, and compiler where it is not gcc."""
        return self.cpu if self.compiler == "gcc" else f"{self.cpu}, {self.compiler}"

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"
