"""What a profiler's log of one model says of the board, for the time of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.layer_times import device_of, layer_work
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.timing.calibration import Calibration, TimingError
from onnxlint_cmsis.timing.fit import fitted, fitted_total

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.measured_layers import MeasuredModel
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.timing.work import LayerWork

PER_SECOND = {"ms": 1e3, "us": 1e6}
"""Units of time, each with how many a second has; the other units of a log count cycles, but for instructions."""


def fitted_timing(model: ModelAnalysis, target: Target, measured: MeasuredModel, source: str) -> Calibration:
    """The fit to a log of one model on one target. Raises TimingError."""
    device, unit = device_of(model, target), measured.profile.unit
    if unit == "instructions":
        raise TimingError("the log counts instructions; cycles or milliseconds are needed")
    if device is None:
        raise TimingError("the clock of the board is not known: --clock says it")
    cycles = device.clock / PER_SECOND.get(unit, device.clock)
    works = _works(model, target)
    pairs = [(works[row.report.node], row.value * cycles) for row in measured.layers if row.report.node in works]
    if pairs:
        return fitted(device, [work for work, _ in pairs], [value for _, value in pairs], source)
    total = measured.profile.total / max(1, measured.runs)
    return fitted_total(device, [*works.values()], total * cycles, source)


def _works(model: ModelAnalysis, target: Target) -> dict[str, LayerWork]:
    """The work of each layer of known cost, by its label."""
    works = {}
    for record in model.repeated:
        runs = record.call is not None and model.refusal(record, target) is None
        work = layer_work(model, record, target, Outcome.CMSIS_NN if runs else Outcome.REFERENCE)
        if work is not None:
            works[record.node.label] = work
    return works
