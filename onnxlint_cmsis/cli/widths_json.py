"""Widths as plain data for JSON, for tools that search architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.width_times import WidthTimes

if TYPE_CHECKING:
    from onnxlint_cmsis.fixers.planning.staircases import Staircase, WidthStep
    from onnxlint_cmsis.ground.types import Target


VERSION = 1
"""Grows when a field is renamed, removed or changes its meaning."""


def widths_json(
    path: str, stairs: list[Staircase], targets: tuple[Target, ...], times: WidthTimes | None = None
) -> dict[str, object]:
    """Every class with every width; lists by target are in the order of `targets`. Times only with a clock."""
    return {
        "version": VERSION,
        "path": path,
        "targets": [target.label for target in targets],
        "instructions": "predicted instructions of the whole model, not cycles; layers of unknown cost left out",
        **({"time": [duration and duration.fields for duration in times.today]} if times else {}),
        "classes": [_json_class(staircase, len(targets), times) for staircase in stairs],
    }


def _json_class(staircase: Staircase, targets: int, times: WidthTimes | None) -> dict[str, object]:
    group = staircase.group
    return {
        "id": group.id,
        "freedom": group.freedom.value,
        "size": group.size,
        "layers": [layer.label for layer in group.deciders],
        "readers": [layer.label for layer in group.readers],
        "unpriced": staircase.unpriced,
        "untried": staircase.untried,
        "as_cheap": [staircase.as_cheap(target) for target in range(targets)],
        "down": [step and step.size for step in (staircase.nearest(target)[0] for target in range(targets))],
        "up": [step and step.size for step in (staircase.nearest(target)[1] for target in range(targets))],
        "cliffs": [
            [{"size": size, "step": jump} for size, jump in staircase.cliffs(target)] for target in range(targets)
        ],
        "widths": [_step(step, times) for step in staircase.steps],
    }


def _step(step: WidthStep, times: WidthTimes | None) -> dict[str, object]:
    fields = step._asdict() | {"instructions": list(step.instructions), "hazards": list(step.hazards)}
    del fields["cycles"]
    return {**fields, **({"predicted_ms": times.ranges(step)} if times else {})}
