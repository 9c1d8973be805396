"""Milliseconds that a model is predicted to take, with their error, or why there is no prediction.

Cycles are the sum, over all layers, of instructions x the kernel's factor, lines of weights x cycles of a line where
these lie, lines of activations x cycles of a line where the arena lies, and what the runtime does for each operator.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.timing.cores import OTHER, core_of
from onnxlint_cmsis.timing.device import OVERHEADS, Overhead
from onnxlint_cmsis.timing.fetches import Fetches
from onnxlint_cmsis.timing.memories import LINE, UNKNOWN, line_cost, placements

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxlint_cmsis.timing.calibration import Calibration
    from onnxlint_cmsis.timing.cores import Core
    from onnxlint_cmsis.timing.device import Device
    from onnxlint_cmsis.timing.work import LayerWork


DIGITS = 3
"""Significant digits of a bound."""
ONE_NUMBER = 0.15
"""Error up to which a time is one number with its error; above it is a range."""


class PredictedTime(NamedTuple):
    """The time of one run of a model on one target."""

    clock: int
    """Hertz."""
    cycles: tuple[float, float] = (0.0, 0.0)
    """Least and most of the layers of known cost."""
    instructions: tuple[int, int] = (0, 0)
    """Least and most predicted instructions of the same layers."""
    weights: float = 0.0
    """Part of the cycles, 0 to 1, that reading weights from their memory takes, in the middle of the range."""
    left_out: int = 0
    """Layers of unknown cost, which the range leaves out."""
    memories: tuple[tuple[str, str], ...] = ()
    """Memories of weights and arena that the range covers."""
    sources: tuple[str, ...] = ()
    """Addresses of what was measured."""
    reason: str = ""
    """Why there is no range; empty where there is one."""
    calibrated: str = ""
    """Measurement that it was fitted to; empty for public figures."""

    def of(self, instructions: tuple[int, int], left_out: int) -> PredictedTime:
        """The time of other instructions at the same cycles for each."""
        ends = zip(self.cycles, self.instructions, strict=True)
        rates = [cycles / number if number else 0.0 for cycles, number in ends]
        least, most = (number * rate for number, rate in zip(instructions, rates, strict=True))
        reason = self.reason or ("" if instructions[1] else NO_COST)
        return self._replace(cycles=(least, most), instructions=instructions, left_out=left_out, reason=reason)

    def without(self, instructions: int, layers: int) -> PredictedTime:
        """The time without layers of these instructions."""
        least, most = self.instructions
        return self.of((least - instructions, most - instructions), self.left_out + layers)

    @property
    def milliseconds(self) -> tuple[float, float] | None:
        """Lower and upper bound, rounded away from each other."""
        if self.reason:
            return None
        first, last = (1000 * cycles / self.clock for cycles in self.cycles)
        return _rounded(first, floor), _rounded(last, ceil)

    @property
    def error(self) -> float:
        """Half the range as a part of its middle."""
        return (self.cycles[1] - self.cycles[0]) / (self.cycles[1] + self.cycles[0] or 1.0)

    @property
    def is_number(self) -> bool:
        """Whether the memories are known and the range is narrow."""
        known = len(self.memories) == 1 or bool(self.calibrated)
        return not self.reason and known and self.error <= ONE_NUMBER

    @property
    def text(self) -> str:
        """The range with what it rests on in one sentence."""
        return self.range if self.reason else f"{self.range} {self.basis}"

    @property
    def range(self) -> str:
        """`predicted 284 to 362 ms`, `predicted 51 ms ± 12 %`, or why there is no prediction."""
        if self.milliseconds is None:
            return f"no prediction: {self.reason}"
        first = "predicted at least" if self.left_out else "predicted"
        low, high = self.milliseconds
        if self.is_number:
            middle = 1000 * sum(self.cycles) / 2 / self.clock
            return f"{first} {_shown(_rounded(middle, round))} ms ± {ceil(100 * self.error)} %"
        return f"{first} {_shown(low)} to {_shown(high)} ms"

    @property
    def at_clock(self) -> str:
        """`predicted 284 to 362 ms at 80 MHz`."""
        return f"{self.range} at {clock_text(self.clock)}"

    @property
    def basis(self) -> str:
        """Clock, layers left out, memories, and which setting narrows the range."""
        layers = "1 layer" if self.left_out == 1 else f"{self.left_out:,} layers"
        without = f" without {layers} of unknown cost" if self.left_out else ""
        if self.calibrated:
            return f"at {clock_text(self.clock)}{without} (calibrated with {self.calibrated})"
        shown = "weights/arena in " + " or ".join(map("/".join, self.memories))
        narrows = "; --weights-in and --arena-in narrow it" if len(self.memories) > 1 else ""
        return f"at {clock_text(self.clock)}{without} ({shown}{narrows})"

    @property
    def fields(self) -> dict[str, object]:
        """The range as plain data; `predicted_ms` is null where `reason` says why."""
        bounds = self.milliseconds
        return {
            "clock_hz": self.clock,
            "predicted_ms": None if bounds is None else {"low": bounds[0], "high": bounds[1]},
            "error": None if bounds is None else round(self.error, 3),
            "weights_share": None if bounds is None else round(self.weights, 3),
            "unknown_layers_left_out": self.left_out,
            "memories": [{"weights": weights, "arena": arena} for weights, arena in self.memories],
            "calibrated": self.calibrated,
            "sources": list(self.sources),
            "reason": self.reason,
        }


NO_COST = "the cost of no layer is known"


def predicted_time(device: Device, layers: Sequence[LayerWork], left_out: int) -> PredictedTime:
    """The time of the layers of known cost, beside `left_out` others."""
    core, clock = core_of(device.cpu), device.clock
    without = PredictedTime(clock, left_out=left_out)
    if core is None:
        return without._replace(reason=f"no public measurement of {device.cpu}")
    instructions = (sum(layer.least for layer in layers), sum(layer.most for layer in layers))
    if not instructions[1]:
        return without._replace(reason=NO_COST)
    if device.calibration is not None and device.calibration.cpu == core.cpu:
        return _calibrated(device.calibration, layers, without)._replace(instructions=instructions)
    for name, setting in ((device.weights, "weights-in"), (device.arena, "arena-in")):
        if name != UNKNOWN and line_cost(core, name, clock) is None:
            also = f"{setting} also takes the cycles of a line of {LINE} bytes"
            return without._replace(reason=f"no public measurement of {name} on {core.cpu}; {also}")
    lines = Fetches(sum(layer.fetches.weights for layer in layers), sum(layer.fetches.activations for layer in layers))
    overhead = OVERHEADS.get(device.runtime, Overhead())
    cycles = [
        _kernels(core, layers, end)
        + (overhead.run[end] + overhead.operator[end] * len(layers)) * core.bounds(OTHER)[end]
        for end in (0, 1)
    ]
    covered, ends, shares = [], [], []
    for pair in placements(core, device.weights, device.arena):
        costs = [line_cost(core, name, clock) for name in pair]
        reads = [(cost.least * count, cost.most * count) for cost, count in zip(costs, lines, strict=True) if cost]
        if len(reads) == len(pair):
            covered.append(pair)
            least, most = (cycles[end] + sum(read[end] for read in reads) for end in (0, 1))
            ends.append((least, most))
            shares.append(sum(reads[0]) / (least + most))
    return without._replace(
        cycles=(min(least for least, _ in ends), max(most for _, most in ends)),
        instructions=instructions,
        weights=max(shares),
        memories=tuple(covered),
        sources=core.sources,
    )


def _calibrated(calibration: Calibration, layers: Sequence[LayerWork], without: PredictedTime) -> PredictedTime:
    """The time that a measurement on the same board says."""
    least, most = (
        calibration.cycles([layer._replace(least=number, most=number) for layer, number in ends])
        for ends in ([(layer, layer.least) for layer in layers], [(layer, layer.most) for layer in layers])
    )
    weights = calibration.weights * sum(layer.fetches.weights for layer in layers)
    bounds = (least * (1 - calibration.error), most * (1 + calibration.error))
    return without._replace(
        cycles=bounds, weights=2 * weights / sum(bounds), calibrated=calibration.source, sources=(calibration.source,)
    )


def _kernels(core: Core, layers: Sequence[LayerWork], end: int) -> float:
    """Cycles of kernels, the least or the most."""
    return sum(
        (layer.least, layer.most)[end] * core.factor(layer.kind) * core.bounds(layer.kind)[end] for layer in layers
    )


def clock_text(clock: int) -> str:
    """`120 MHz`, `32.768 kHz`, `1,001 Hz`."""
    for unit, hertz in (("MHz", 1_000_000), ("kHz", 1_000)):
        if clock >= hertz and clock * 1000 % hertz == 0:
            return f"{clock / hertz:,.3f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{clock:,} Hz"


def _decimals(value: float) -> int:
    """Decimals that leave DIGITS significant digits; a whole number, such as 0, keeps all it has."""
    return max(0, DIGITS - 1 - floor(log10(value))) if value else 0


def _rounded(value: float, towards: Callable[[float], int]) -> float:
    scale = 10.0 ** _decimals(value)
    return towards(value * scale) / scale


def _shown(value: float) -> str:
    return f"{value:,.{_decimals(value)}f}"
