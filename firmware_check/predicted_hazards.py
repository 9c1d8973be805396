"""Hazards that were predicted, held against what the device did: a defect that occurs is no disagreement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onnxlint_cmsis.checks.rule_registry import check_of_kind
from onnxlint_cmsis.cmsis_nn.hazard import Hazard
from onnxlint_cmsis.cmsis_nn.library import Route
from onnxlint_cmsis.ground.types import Target

SHOWS = {
    "returns-error": ("status",),
    "wrong-result": ("wrong", "uneven"),
    "overrun": ("damage", "wrong", "uneven"),
    "inexact": ("wrong",),
    "too-large": ("wrong", "damage", "status"),
}
"""Kind of a hazard to what of the trouble it explains."""


SURE = ("returns-error", "wrong-result", "overrun")
"""Kinds whose effect is seen on every input."""


class Trouble(NamedTuple):
    """What went wrong in one layer."""

    status: int
    """Status returned, 0 for success."""
    wrong: tuple[str, ...]
    """What is said of its values."""
    damage: tuple[str, ...]
    """What is said of the guards around its memory."""
    uneven: tuple[str, ...] = ()
    """What is said where two builds give other values: memory that no model names decides them."""

    def of(self, hazard: Hazard) -> list[str]:
        """The part that a hazard explains; after an error, values too."""
        return self.shown(hazard.kind)

    def shown(self, kind: str) -> list[str]:
        """The part that a kind of hazard explains."""
        said = [*([f"status {self.status}"] if self.status else []), *self.damage, *self.wrong, *self.uneven]
        return said if any(getattr(self, name) for name in SHOWS[kind]) else []


def code_of(hazard: Hazard) -> str:
    """Code of the linter's rule that reports a hazard."""
    return check_of_kind(hazard.kind).rule.code


def known_defects(predicted: Route | None, trouble: Trouble) -> Iterator[tuple[str, str]]:
    """Code of the rule, and what was seen of each hazard that was predicted."""
    for hazard in (*predicted.hazards, *predicted.inexact) if predicted else ():
        said = trouble.of(hazard)
        if said:
            whose = "compiler" if hazard.compiler else "release"
            yield code_of(hazard), f"{'; '.join(said)}; a known defect of this {whose}: {hazard.id}"


def unseen(predicted: Route | None, trouble: Trouble, target: Target, assembly: bool = True) -> Iterator[str]:
    """What is said of hazards whose effect did not occur; without `assembly` none of inline assembly can."""
    for hazard in predicted.hazards if predicted else ():
        sure = hazard.kind in SURE and hazard.on(target)
        if sure and (assembly or not hazard.assembly) and not trouble.of(hazard):
            yield f"predicted {hazard.id} ({code_of(hazard)}), whose effect was not seen"
