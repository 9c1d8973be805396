"""Widths as plain data for JSON, for tools that search architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.planning.staircase import Staircase, WidthStep
    from onnxlint_cmsis.types import Target

VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning."""


def widths_json(path: str, found: list[Staircase], targets: tuple[Target, ...]) -> dict[str, object]:
    """Every class with every width; lists by target are in the order of `targets`."""
    return {
        "version": VERSION,
        "path": path,
        "targets": [target.label for target in targets],
        "instructions": "predicted instructions of the whole model, not cycles; layers of unknown cost left out",
        "classes": [_class(each, len(targets)) for each in found],
    }


def _class(each: Staircase, targets: int) -> dict[str, object]:
    group = each.group
    return {
        "id": group.id,
        "freedom": group.freedom.value,
        "size": group.size,
        "layers": [one.label for one in group.deciders],
        "readers": [one.label for one in group.readers],
        "unpriced": each.unpriced,
        "as_cheap": [each.as_cheap(target) for target in range(targets)],
        "cliffs": [[{"size": size, "step": jump} for size, jump in each.cliffs(target)] for target in range(targets)],
        "widths": [_step(step) for step in each.steps],
    }


def _step(step: WidthStep) -> dict[str, object]:
    return {**step._asdict(), "instructions": list(step.instructions), "hazards": list(step.hazards)}
