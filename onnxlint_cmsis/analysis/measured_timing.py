"""What a profiler's log of one model says of the board, for the time of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.analysis.layer_times import device_of, layer_work
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.timing.calibration import Calibration, TimingError
from onnxlint_cmsis.timing.fit import fitted, fitted_total

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.measured_layers import MeasuredModel
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.work import LayerWork

PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""Units of time, each with how many a second has; the other units of a log count cycles, but for instructions."""


class MeasuredWork(NamedTuple):
    """What a log measured, with the work of the same layers."""

    device: Device
    """Where the model ran."""
    layers: tuple[LayerWork, ...]
    """Work of each layer that was measured; of all where the log has a total alone."""
    cycles: tuple[float, ...]
    """Cycles of each of them, or of all together."""

    def fitted(self, source: str) -> Calibration:
        """The fit to the log. Raises TimingError."""
        if len(self.cycles) == len(self.layers):
            return fitted(self.device, self.layers, self.cycles, source)
        return fitted_total(self.device, self.layers, sum(self.cycles), source)

    def against(self, earlier: Calibration) -> Agreement:
        """What an earlier measurement says of the same layers. Raises TimingError."""
        if earlier.cpu != self.device.cpu:
            raise TimingError(f"it is of {earlier.cpu}, and the log of {self.device.cpu}")
        said, measured = earlier.cycles(self.layers), sum(self.cycles)
        return Agreement(earlier, 1000 * said / self.device.clock, 1000 * measured / self.device.clock)


class Agreement(NamedTuple):
    """A measurement beside what an earlier one says."""

    earlier: Calibration
    """The earlier one."""
    said: float
    """Milliseconds that it says."""
    measured: float
    """Milliseconds that were measured."""

    @property
    def kept(self) -> bool:
        """Tell whether the measurement lies within what the earlier one promised."""
        return abs(self.said / self.measured - 1) <= self.earlier.error


def measured_work(model: ModelAnalysis, target: Target, measured: MeasuredModel) -> MeasuredWork:
    """What the log of a model on one target measured. Raises TimingError."""
    device, unit = device_of(model, target), measured.profile.unit
    if not measured.runs:
        raise TimingError(measured.remarks[0])
    if unit == "instructions":
        raise TimingError("the log counts instructions; cycles or milliseconds are needed")
    if device is None:
        raise TimingError("the clock of the board is not known: --clock says it")
    cycles = device.clock / PER_SECOND.get(unit, device.clock)
    works = _works(model, target)
    pairs = [(works[row.report.node], row.value * cycles) for row in measured.layers if row.report.node in works]
    if not pairs:
        total = measured.profile.total / max(1, measured.runs) * cycles
        return MeasuredWork(device, tuple(works.values()), (total,))
    layers, values = zip(*pairs, strict=True)
    return MeasuredWork(device, layers, values)


def _works(model: ModelAnalysis, target: Target) -> dict[str, LayerWork]:
    """The work of each layer of known cost, by its label."""
    works = {}
    for record in model.repeated:
        runs = record.call is not None and model.refusal(record, target) is None
        work = layer_work(model, record, target, Outcome.CMSIS_NN if runs else Outcome.REFERENCE)
        if work is not None:
            works[record.node.label] = work
    return works
