"""Widths as plain data for JSON, for tools that search architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.commands.width_times import WidthTimes
    from onnxlint_cmsis.planning.staircase import Staircase, WidthStep
    from onnxlint_cmsis.types import Target

VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning."""


def widths_json(
    path: str, found: list[Staircase], targets: tuple[Target, ...], times: WidthTimes | None = None
) -> dict[str, object]:
    """Every class with every width; lists by target are in the order of `targets`. Times only with a clock."""
    return {
        "version": VERSION,
        "path": path,
        "targets": [target.label for target in targets],
        "instructions": "predicted instructions of the whole model, not cycles; layers of unknown cost left out",
        **({"time": [each and each.fields for each in times.today]} if times else {}),
        "classes": [_class(each, len(targets), times) for each in found],
    }


def _class(each: Staircase, targets: int, times: WidthTimes | None) -> dict[str, object]:
    group = each.group
    return {
        "id": group.id,
        "freedom": group.freedom.value,
        "size": group.size,
        "layers": [one.label for one in group.deciders],
        "readers": [one.label for one in group.readers],
        "unpriced": each.unpriced,
        "untried": each.untried,
        "as_cheap": [each.as_cheap(target) for target in range(targets)],
        "cliffs": [[{"size": size, "step": jump} for size, jump in each.cliffs(target)] for target in range(targets)],
        "widths": [_step(step, times) for step in each.steps],
    }


def _step(step: WidthStep, times: WidthTimes | None) -> dict[str, object]:
    ranges = {"predicted_ms": times.ranges(step.instructions)} if times else {}
    return {**step._asdict(), "instructions": list(step.instructions), "hazards": list(step.hazards), **ranges}
