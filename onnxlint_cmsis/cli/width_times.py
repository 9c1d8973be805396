"""Predicted times of a model, today and at other widths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.coverage import summarize

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.results import TargetSummary
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


class WidthTimes:
    """Times of a model on each of its targets; None for a target without a clock."""

    def __init__(self, model: ModelAnalysis) -> None:
        self._targets = summarize(model).targets

    @property
    def today(self) -> tuple[PredictedTime | None, ...]:
        """Time of the unchanged model on each target."""
        return tuple(target.time for target in self._targets)

    def ranges(self, instructions: Sequence[int]) -> list[dict[str, float] | None]:
        """Times in milliseconds on each target, from predicted instructions; None without a prediction."""
        targets = zip(instructions, self._targets, strict=True)
        times = (here.time and here.time.of(_range(number, here), here.unknown_cost) for number, here in targets)
        bounds = (time.milliseconds if time else None for time in times)
        return [bound and {"low": bound[0], "high": bound[1]} for bound in bounds]


def _range(instructions: int, today: TargetSummary) -> tuple[int, int]:
    """Least and most of the whole model, whose layers and copies with a range stay as they are today."""
    least, most = today.instructions_range or (today.instructions, today.instructions)
    return instructions + least - today.instructions, instructions + most - today.instructions
