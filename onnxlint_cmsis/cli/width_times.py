"""Predicted times of a model, today and at other widths."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.fixers.planning.staircases import WidthStep
    from onnxlint_cmsis.timing.predicted_time import PredictedTime


class WidthTimes:
    """Times of a model on each of its targets; None for a target without a clock."""

    def __init__(self, model: ModelAnalysis) -> None:
        from onnxlint_cmsis.analysis.coverage import summarize

        self._targets = model.once(summarize).targets

    @property
    def today(self) -> tuple[PredictedTime | None, ...]:
        """Time of the unchanged model on each target."""
        return tuple(target.time for target in self._targets)

    def ranges(self, step: WidthStep) -> list[dict[str, float] | None]:
        """Times in milliseconds on each target at a width; None without a prediction."""
        pairs = zip(self.today, step.cycles, strict=True)
        times = (time.more(cycles) if time and not any(map(isnan, cycles)) else None for time, cycles in pairs)
        bounds = (time.milliseconds if time else None for time in times)
        return [bound and {"low": bound[0], "high": bound[1]} for bound in bounds]
