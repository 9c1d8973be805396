"""The steps of a fix: what each of them changes, by names that stay the same from round to round."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Resized:
    """A class of channels gets another size."""

    members: tuple[str, ...]
    """Tensor and axis of its members that nodes make, `tensor:axis`; no fix renames these."""
    layers: tuple[str, ...]
    """First outputs of the layers that decide or read it."""


@dataclass(frozen=True)
class Padded:
    """An input of the model gets more channels of zeros."""

    tensor: str
    """The input."""
    more: int
    """Channels to add."""


@dataclass(frozen=True)
class Rewritten:
    """A repair rewrites a layer."""

    repair: str
    """Name of the repair."""
    output: str
    """First output of the layer."""


@dataclass(frozen=True)
class Retyped(Rewritten):
    """A repair gives integers another type."""


Step = Resized | Padded | Rewritten
Reasons = dict[Step, str]
"""Steps that were not taken, each with the reason as a clause."""


def over_budget(budget: int | None, growth: int) -> str:
    """Say that the budget does not allow a step that adds so many bytes."""
    return f"fix-budget-bytes {budget} does not allow it: {growth:,} bytes more"
