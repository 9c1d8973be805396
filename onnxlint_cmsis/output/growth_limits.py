"""By how much figures may grow: `instructions=2%,arena=0`."""

from __future__ import annotations

import re

from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import alike
from onnxlint_cmsis.output.comparison import METRICS, Figure, ModelDifference

_LIMIT = re.compile(r"(\w+)=(\d+(?:\.\d+)?)(%?)")


class GrowthLimit(NamedTuple):
    """What one figure may grow by."""

    metric: str
    """One of METRICS, or of an image's."""
    most: float
    """Largest growth: a number, or percent of the number before."""
    percent: bool
    """Whether it is percent."""

    def exceeded(self, figure: Figure) -> bool:
        """Tell if a figure grew by more; one that became unknown counts as grown, and so does the cost of a layer."""
        if figure.metric != self.metric or figure.before is None:
            return False
        if figure.after is None or any(layer.after is None for layer in figure.left_out):
            return True
        allowed = figure.before * self.most / 100 if self.percent else self.most
        return figure.after - figure.before > allowed


def growth_limits(texts: list[str], metrics: tuple[str, ...] = METRICS) -> tuple[GrowthLimit, ...]:
    """The limits of an option that was given once or several times, on some figures. Raises UsageError."""
    return tuple(_limit(part.strip(), metrics) for text in texts for part in text.split(",") if part.strip())


def _limit(text: str, metrics: tuple[str, ...]) -> GrowthLimit:
    match = _LIMIT.fullmatch(text)
    if not match:
        raise UsageError(f"--fail-on-increase: {text!r} is not METRIC=NUMBER or METRIC=NUMBER%")
    metric, number, percent = match.groups()
    if metric not in metrics:
        near = alike(metric, metrics, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(metrics)}"
        raise UsageError(f"--fail-on-increase: {metric!r} is not a figure{hint}")
    return GrowthLimit(metric, float(number), percent == "%")


def exceeded(compared: ModelDifference, limits: tuple[GrowthLimit, ...]) -> tuple[Figure, ...]:
    """Figures that grew by more than a limit allows."""
    return tuple(figure for figure in compared.figures if any(limit.exceeded(figure) for limit in limits))
