"""Modelled cycles of layers at other channel counts, on targets whose time is predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onnxlint_cmsis.analysis.layer_times import device_of
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.fixers.planning.measures import Numbers
    from onnxlint_cmsis.fixers.planning.prices import Column, Prices
    from onnxlint_cmsis.fixers.planning.sites import Site
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.placed import Placed

Cycles = NDArray[np.float64]
"""Cycles, in the middle: [pairs of memories, channel counts]; no pair where the time is not predicted."""


class ModelledCycles(NamedTuple):
    """Cycles of a model's layers."""

    prices: Prices
    """Their instructions."""
    devices: tuple[Device | None, ...]
    """Where the model runs, for each target; None without a clock."""

    @property
    def timed(self) -> tuple[int, ...]:
        """Places of the targets whose time is predicted and where the cost of reading weights is known."""
        return tuple(
            number
            for number, device in enumerate(self.devices)
            if device and device.knows_weights and self.pairs(number)
        )

    def pairs(self, target: int) -> int:
        """How many pairs of memories the cycles of a target cover; 0 where its time is not predicted."""
        device = self.devices[target]
        return len(_placed(device)) if device else 0

    def of(self, site: Site, inputs: Numbers, outputs: Numbers) -> tuple[Cycles, ...]:
        """Cycles of a layer on each target at many channel counts; not a number where its cost is unknown."""
        columns = self.prices.columns(site, inputs, outputs)
        pairs = zip(self.devices, columns, strict=True)
        return tuple(_cycles(device, site, column, (inputs, outputs)) for device, column in pairs)


def modelled_cycles(model: ModelAnalysis, prices: Prices) -> ModelledCycles:
    """The cycles of a model's layers."""
    return ModelledCycles(prices, tuple(device_of(model, target) for target in prices.targets))


def _placed(device: Device) -> tuple[Placed, ...]:
    from onnxlint_cmsis.timing.predicted_time import layer_time
    from onnxlint_cmsis.timing.work import LayerWork

    return layer_time(device, LayerWork("other", 0, 0)).placed


def _cycles(device: Device | None, site: Site, column: Column, channels: tuple[Numbers, Numbers]) -> Cycles:
    from onnxlint_cmsis.timing.cores import core_of, kind_of
    from onnxlint_cmsis.timing.fetches import fetches
    from onnxlint_cmsis.timing.predicted_time import layer_time
    from onnxlint_cmsis.timing.work import LayerWork

    core, counts = core_of(device.cpu) if device else None, channels[0].size
    if device is None or core is None:
        return np.zeros((0, counts))
    cycles = np.full((len(_placed(device)), counts), 0.0 if site.layer.once else np.nan)
    unmeasured = site.layer.once or site.layer.call.floating is not None
    for number, taken in enumerate(() if unmeasured else column.routes):
        there = column.known & (column.which == number)
        if there.any():
            retired = column.instructions[there]
            lines = fetches(site.calls(channels[0][there], channels[1][there]), core, taken.effective)
            # a layer of many channel counts is one whose numbers are arrays
            time = layer_time(device, LayerWork(kind_of(taken.effective), retired, retired, lines))
            cycles[:, there] = [sum(here.parts) for here in time.placed]
    return cycles
