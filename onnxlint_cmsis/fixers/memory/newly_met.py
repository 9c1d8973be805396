"""Hazards and unknown costs that a rewritten model alone meets."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.fixers.planning.prices import risks


def newly_met(old: ModelAnalysis, new: ModelAnalysis) -> str | None:
    """A hazard, or an unknown cost, that layers of the new model alone meet, as a clause; None for none."""
    more = sorted({*_risks(new)} - {*_risks(old)})
    return f"{more[0][1]} of {more[0][0]} would be met" if more else None


def _risks(model: ModelAnalysis) -> Iterator[tuple[str, str]]:
    """Functions of CMSIS-NN with the hazards that the layers meet there, and where no cost is known."""
    for layer in model.lowered.layers:
        for target, taken in model.routes(layer):
            yield from ((layer.call.entry, hazard) for hazard in risks(taken))
            if model.instructions(layer.call, target) is None:
                yield layer.call.entry, "an unknown cost"
